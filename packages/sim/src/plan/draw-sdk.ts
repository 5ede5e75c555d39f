/** Draws which sessions are held by an SDK's client. */
import type { Random } from '@isochron/core';
import { weighted } from '../engine/draws.js';
import type { SessionPlan } from './plan.js';

/** The sessions, of which none, some or all have the SDKs' client. */
export function withSdkClients(random: Random, sessions: readonly SessionPlan[]): readonly SessionPlan[] {
  const share = weighted(random, [
    [0, 1],
    [0.5, 1],
    [1, 2],
  ]);
  return sessions.map((session) => (random.chance(share) ? { ...session, sdk: true } : session));
}
