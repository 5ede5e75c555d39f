/** The choice among endpoints that are tried at the same time. */
import type { IsochronError } from '@isochron/core/errors';
import { toIsochronError } from '../errors.js';
import type { Loop, Timer } from '../loop.js';
import type { Connection } from './connection.js';
import type { Endpoint } from './endpoints.js';
import type { Caller, Cancellable } from './exchange.js';
import type { Open } from './first-of.js';

/** The others have at least this long, even beside a very near endpoint. */
const MIN_GRACE_MS = 50;

/**
 * The connection with the shortest round trip. Once the first one is open, the others have as long again: one that
 * takes more than twice as long to open is not nearer. The others are closed. Rejects with a definite refusal, if there
 * is one, else with `none`.
 */
export function nearest(
  loop: Loop,
  endpoints: readonly Endpoint[],
  open: Open<Connection>,
  none: () => IsochronError,
  { resolve, reject }: Caller<Connection>,
): Cancellable {
  const startMs = loop.nowMs;
  const found: Connection[] = [];
  const errors: IsochronError[] = [];
  let timer: Timer | undefined;
  let decided = false;

  const decide = (): void => {
    decided = true;
    loop.cancel(timer);
  };
  const all = (): boolean => found.length + errors.length === endpoints.length;
  const choose = (): void => {
    const connections = found.filter((connection) => !connection.isClosed).sort((a, b) => rtt(a) - rtt(b));
    const best = connections.shift();
    for (const connection of connections) connection.close();
    if (best === undefined && !all()) return;
    decide();
    if (best !== undefined) resolve(best);
    else reject(errors.find((error) => !error.retryable) ?? none());
  };
  const arrived = (): void => {
    if (decided) return;
    if (all()) choose();
    else if (found.length === 1 && timer === undefined)
      timer = loop.after(Math.max(MIN_GRACE_MS, loop.nowMs - startMs), choose);
  };
  const opened = (connection: Connection): void => {
    if (decided) connection.close();
    else {
      found.push(connection);
      arrived();
    }
  };
  const failed = (error: unknown): void => {
    errors.push(toIsochronError(error));
    arrived();
  };
  for (const endpoint of endpoints) open(endpoint, { resolve: opened, reject: failed });
  return {
    cancel: (reason) => {
      if (decided) return;
      decide();
      for (const connection of found) connection.close();
      reject(reason);
    },
  };
}

const rtt = (connection: Connection): number => connection.rttMs ?? Number.POSITIVE_INFINITY;
