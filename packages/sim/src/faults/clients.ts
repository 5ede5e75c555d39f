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

/**
 * The client receives nothing on the connections that it has now, while nodes take in what it sends: it repeats
 * elsewhere what is done already, and nodes serve several connections of its session.
 */
export const answersLost: FaultKind<{ session: string }> = {
  weight: 0,
  forMs: [50, 5_000],
  draw: (random, { sessions }) => (sessions.length === 0 ? undefined : { session: random.pick(sessions) }),
  start: (world, { session }) => world.client(session)?.loseAnswers(),
};
