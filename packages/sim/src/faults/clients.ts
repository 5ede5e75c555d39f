/** Faults of clients. */
import type { FaultKind } from './fault.js';

/** The client's process dies, in any state. */
export const clientDeath: FaultKind<{ session: string }> = {
  weight: 1,
  forMs: [0, 0],
  draw: (random, { sessions }) => (sessions.length < 2 ? undefined : { session: random.pick(sessions) }),
  start: (world, { session }) => {
    world.client(session)?.die();
    return undefined;
  },
};

/** The client loses its connection, with all requests under way. */
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
 * The client receives nothing on its present connections, while nodes receive its messages: it repeats finished
 * requests elsewhere, and nodes serve several connections of its session.
 */
export const answersLost: FaultKind<{ session: string }> = {
  weight: 0,
  forMs: [50, 5_000],
  draw: (random, { sessions }) => (sessions.length === 0 ? undefined : { session: random.pick(sessions) }),
  start: (world, { session }) => world.client(session)?.loseAnswers(),
};
