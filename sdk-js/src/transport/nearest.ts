/** The choice among endpoints that are tried at the same time. */
import type { IsochronError } from '@isochron/core/errors';
import { toIsochronError } from '../errors.js';
import type { Connection } from './connection.js';

/** Even next to a very near endpoint, the others get this long. */
const MIN_GRACE_MS = 50;

/**
 * The connection with the shortest round trip. Once the first one is there, the others have as long again: what takes more
 * than twice as long to open is not nearer. Those not chosen are closed. Rejects with a definite refusal, if there is one.
 */
export function nearest(
  attempts: readonly Promise<Connection>[],
  none: (cause: unknown) => IsochronError,
  signal?: AbortSignal,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const startMs = performance.now();
    const found: Connection[] = [];
    const errors: IsochronError[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    let decided = false;

    const decide = (settle: () => void): void => {
      decided = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      settle();
    };
    const choose = (): void => {
      if (decided) return;
      const open = found.filter((connection) => !connection.isClosed).sort((a, b) => rtt(a) - rtt(b));
      const best = open.shift();
      for (const connection of open) connection.close();
      if (best !== undefined) decide(() => resolve(best));
      else if (found.length + errors.length === attempts.length) {
        const definite = errors.find((error) => !error.retryable);
        decide(() => reject(definite ?? none(errors[0])));
      }
    };
    const onAbort = (): void => {
      for (const connection of found) connection.close();
      decide(() => reject(signal?.reason));
    };
    const arrived = (): void => {
      if (found.length + errors.length === attempts.length) choose();
      else if (found.length === 1 && timer === undefined)
        timer = setTimeout(choose, Math.max(MIN_GRACE_MS, performance.now() - startMs));
    };

    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    for (const attempt of attempts) {
      attempt.then(
        (connection) => {
          if (decided) return connection.close();
          found.push(connection);
          arrived();
        },
        (error: unknown) => {
          errors.push(toIsochronError(error));
          if (!decided) arrived();
        },
      );
    }
  });
}

const rtt = (connection: Connection): number => connection.rttMs ?? Number.POSITIVE_INFINITY;
