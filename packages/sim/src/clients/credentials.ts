/** Credentials of simulated clients. Every node trusts their text: who it is, and until when. */
import { ANONYMOUS_PRINCIPAL, IsochronError, type Principal, ROLES, type WallMs } from '@isochron/core';
import type { VirtualTime } from '@isochron/simulated-world/virtual-time';
import { WallClock } from '@isochron/simulated-world/wall-clock';

export const credentialsOf = (principal: string, expiresAt: WallMs): string => `${principal}@${Math.floor(expiresAt)}`;

/** The principal of credentials at a node; callers without any are anonymous. */
export function principalOf(credentials: string | undefined, now: WallMs): Principal | IsochronError {
  if (credentials === undefined) return ANONYMOUS_PRINCIPAL;
  const [id = '', end = ''] = credentials.split('@');
  const expiresAt = Number(end);
  if (!(expiresAt > now)) return new IsochronError('UNAUTHENTICATED', 'The credentials have expired.');
  return { id, roles: new Set(ROLES), claims: {}, expiresAt };
}

/** How long credentials are valid where none expire within a run, ms. */
const FOREVER_MS = 1e9;

/** A client with credentials, if it names a principal or they are valid for a time. */
export interface Holder {
  readonly session: string;
  readonly principal?: string | undefined;
  readonly credentialsMs: number | undefined;
  readonly time: VirtualTime;
}

/** Its principal in the stored ids of its transactions (U4); empty where it is anonymous. */
export const holderIn = (holder: Holder): string =>
  newCredentials(holder) === undefined ? '' : (holder.principal ?? holder.session);

export const newCredentials = ({ session, principal, credentialsMs, time }: Holder): string | undefined =>
  credentialsMs === undefined && principal === undefined
    ? undefined
    : credentialsOf(principal ?? session, WallClock.truth(time) + (credentialsMs ?? FOREVER_MS));
