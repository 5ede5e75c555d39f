/** The choice among endpoints that are tried one after the other. */
import type { IsochronError } from '@isochron/core/errors';
import { toIsochronError } from '../errors.js';
import type { Endpoint } from './endpoints.js';

/** An endpoint that says nothing for so long does not keep the next one from being tried. */
const STAGGER_MS = 300;

/**
 * The first connection that opens. Endpoints are tried in their order; the next one when the one before has failed, or has said nothing
 * for a while, as where packets just vanish. Those that open later are closed. Undefined when all have failed, after `refuse`
 * was told the first definite refusal, if there was one.
 */
export function firstOf<C extends { close(): void }>(
  endpoints: readonly Endpoint[],
  open: (endpoint: Endpoint) => Promise<C>,
  refuse: (error: IsochronError) => void,
): Promise<C | undefined> {
  return new Promise((resolve) => {
    let next = 0;
    let trying = 0;
    let found = false;
    let definite: IsochronError | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;

    const opened = (connection: C): void => {
      if (found) {
        connection.close();
        return;
      }
      found = true;
      clearTimeout(timer);
      resolve(connection);
    };
    const failed = (thrown: unknown): void => {
      trying--;
      const error = toIsochronError(thrown);
      if (!error.retryable) definite ??= error;
      if (!found) tryNext();
    };
    const tryNext = (): void => {
      clearTimeout(timer);
      const endpoint = endpoints[next];
      if (endpoint !== undefined) {
        next++;
        trying++;
        timer = setTimeout(tryNext, STAGGER_MS);
        open(endpoint).then(opened, failed);
      } else if (trying === 0) {
        if (definite !== undefined) refuse(definite);
        resolve(undefined);
      }
    };
    tryNext();
  });
}
