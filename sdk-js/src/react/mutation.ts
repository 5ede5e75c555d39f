import { useCallback, useEffect, useRef, useState } from 'react';
import type { IsochronClient } from '../index.js';
import { useIsochron } from './context.js';

/** A write as a component sees it. Its functions are the same in every render. */
export interface Mutation<A extends unknown[], R> {
  /** Runs it. Its error is in `error`. */
  readonly mutate: (...args: A) => void;
  /** Runs it, and gives its result or its error to the caller, too. */
  readonly mutateAsync: (...args: A) => Promise<R>;
  /** Whether a run has not ended yet. */
  readonly isPending: boolean;
  /** The error of the latest run; undefined if it has none. */
  readonly error: unknown;
  /** Clears `error`. */
  readonly reset: () => void;
}

/**
 * A write of a component: `useMutation((client, title: string) => client.set(…))`. Live results show it in the same
 * turn; this hook gives its progress and its error. Runs may overlap; they take effect in their order.
 */
export function useMutation<A extends unknown[], R>(
  write: (client: IsochronClient, ...args: A) => Promise<R>,
): Mutation<A, R> {
  const client = useIsochron();
  const latest = useRef(write);
  useEffect(() => {
    latest.current = write;
  });
  const [running, setRunning] = useState(0);
  const [error, setError] = useState<unknown>();
  const runs = useRef(0);
  const mutateAsync = useCallback(
    async (...args: A): Promise<R> => {
      runs.current++;
      const run = runs.current;
      setError(undefined);
      setRunning((count) => count + 1);
      try {
        return await latest.current(client, ...args);
      } catch (reason) {
        if (run === runs.current) setError(reason);
        throw reason;
      } finally {
        setRunning((count) => count - 1);
      }
    },
    [client],
  );
  const mutate = useCallback((...args: A): void => void mutateAsync(...args).catch(() => undefined), [mutateAsync]);
  const reset = useCallback(() => setError(undefined), []);
  return { mutate, mutateAsync, isPending: running > 0, error, reset };
}
