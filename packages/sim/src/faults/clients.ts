/** What happens to clients from outside. */
import type { FaultKind } from './fault.js';

/** The client's process dies, in whatever state it is. */
export const clientDeath: FaultKind<{ session: string }> = {
  weight: 1,
  forMs: [0, 0],
  draw: (random, { sessions }) => (sessions.length < 2 ? undefined : { session: random.pick(sessions) }),
  start: (world, { session }) => {
    world.client(session)?.die();
    return undefined;
  },
};

/** The client loses its connection, with whatever was under way. */
export const clientDisconnect: FaultKind<{ session: string }> = {
  weight: 3,
  forMs: [0, 0],
  draw: (random, { sessions }) => (sessions.length === 0 ? undefined : { session: random.pick(sessions) }),
  start: (world, { session }) => {
    world.client(session)?.disconnect();
    return undefined;
  },
};
