/** The choice among endpoints that are tried one after the other. */
import type { IsochronError } from '@isochron/core/errors';
import { toIsochronError } from '../errors.js';
import type { Loop, Timer } from '../loop.js';
import type { Endpoint } from './endpoints.js';
import type { Caller } from './exchange.js';

/** After this long without an answer of one endpoint the next one is tried as well. */
const STAGGER_MS = 300;

/** Tries to open a connection to an endpoint. */
export type Open<C> = (endpoint: Endpoint, caller: Caller<C>) => void;

/**
 * The first connection that opens. Endpoints are tried in their order; the next one when the one before has failed, or
 * has not answered for a while, as when packets are dropped. Connections that open later are closed. `done` gets
 * undefined when all have failed, after `refuse` got the first definite refusal, if there was one.
 */
export function firstOf<C extends { close(): void }>(
  loop: Pick<Loop, 'after' | 'cancel'>,
  endpoints: Iterable<Endpoint>,
  open: Open<C>,
  refuse: (error: IsochronError) => void,
  done: (connection: C | undefined) => void,
): void {
  const rest = endpoints[Symbol.iterator]();
  let trying = 0;
  let found = false;
  let definite: IsochronError | undefined;
  let timer: Timer | undefined;

  const opened = (connection: C): void => {
    if (found) {
      connection.close();
      return;
    }
    found = true;
    loop.cancel(timer);
    done(connection);
  };
  const failed = (thrown: unknown): void => {
    trying--;
    const error = toIsochronError(thrown);
    if (!error.retryable) definite ??= error;
    if (!found) tryNext();
  };
  const tryNext = (): void => {
    loop.cancel(timer);
    const next = rest.next();
    if (next.done !== true) {
      trying++;
      timer = loop.after(STAGGER_MS, tryNext);
      open(next.value, { resolve: opened, reject: failed });
    } else if (trying === 0) {
      if (definite !== undefined) refuse(definite);
      done(undefined);
    }
  };
  tryNext();
}
