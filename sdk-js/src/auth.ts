/**
 * Credentials that an application gives on request. Few applications do, so bundlers keep this file apart: it shares no
 * code with the others.
 */
import { openRenewal } from '@isochron/client/link/renewal';
import type { IsochronError } from '@isochron/core/errors';
import type { Auth, Authenticated, ConnectOptions, Settings } from './options.js';

/** The calls under way. Clients with the same function share one. */
const calls = new Map<Auth, Promise<unknown>>();

/** Its result, or its error. */
function called(auth: Auth): Promise<unknown> {
  const underWay = calls.get(auth);
  if (underWay !== undefined) return underWay;
  const call = (async () => auth())().catch((error: unknown) => error);
  calls.set(auth, call);
  call.then(() => calls.delete(auth));
  return call;
}

/**
 * The settings of a client with `auth`.
 * @throws INVALID_REQUEST, as an error of the given class, where it has `credentials` too
 */
export function renewed(
  ErrorOf: typeof IsochronError,
  { auth, credentials }: ConnectOptions,
): Pick<Settings, 'renewal' | 'authenticate'> {
  if (credentials !== undefined) throw new ErrorOf('INVALID_REQUEST', 'auth and credentials exclude each other');
  const authenticate = (driver: Authenticated): void => {
    if (auth !== undefined) called(auth).then((answer) => driver.step({ kind: 'credentials', credentials: answer }));
  };
  return { renewal: openRenewal, authenticate };
}
