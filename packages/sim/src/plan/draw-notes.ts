/** Draws notes that a rule filters by what is in them: each principal lists and watches its own (AR10, LQ7). */
import type { Random, Topology } from '@isochron/core';
import { exponential, integer, logBetween, rounded, weighted } from '@isochron/simulated-world/draws';
import type { AlbumsPlan, NoteSessionPlan, NoteStepPlan, NotesPlan } from './plan.js';

/** Some runs with albums have notes. */
export const withNotes = (random: Random, topology: Topology, albums: AlbumsPlan | undefined) =>
  albums !== undefined && random.chance(0.3) ? { ...albums, notes: drawSomeNotes(random, topology) } : albums;

/** Notes for a run that has some. */
export function drawSomeNotes(random: Random, { regions }: Topology): NotesPlan {
  const principals = Array.from({ length: integer(random, 2, 4) }, (_, i) => `guest-note${i}`);
  return { sessions: principals.map((principal) => noteSession(random, regions, principals, principal)) };
}

/** A step without its pause. */
type Unpaused<S> = S extends unknown ? Omit<S, 'thinkMs'> : never;

function noteSession(
  random: Random,
  regions: readonly string[],
  principals: readonly string[],
  principal: string,
): NoteSessionPlan {
  const mean = 100 * logBetween(random, 0.2, 2);
  const steps = Array.from({ length: integer(random, 8, 40) }, () => ({
    thinkMs: rounded(exponential(random, mean)),
    ...drawStep(random, regions, principals),
  }));
  // More than a page examines: pages end among hidden notes.
  const count = random.chance(0.5) ? integer(random, 80, 160) : integer(random, 1, 5);
  return {
    name: principal,
    principal,
    region: random.pick(regions),
    steps: [{ f: 'write', thinkMs: Math.round(logBetween(random, 1, 300)), count }, ...steps],
  };
}

function drawStep(random: Random, regions: readonly string[], principals: readonly string[]): Unpaused<NoteStepPlan> {
  const f = weighted(random, [
    ['write', 3],
    ['rewrite', 4],
    ['hand', 4],
    ['delete', 2],
    ['list', 3],
    ['live', 3],
    ['follow', 0.5],
    ['move', 0.3],
  ] as const);
  switch (f) {
    case 'write':
      return { f, count: integer(random, 1, 3) };
    case 'rewrite':
    case 'delete':
      return { f, back: random.below(4) };
    case 'hand':
      return { f, back: random.below(4), to: random.pick(principals) };
    case 'list':
      return { f, limit: integer(random, 1, 20) };
    case 'live':
      return {
        f,
        of: random.chance(0.85) ? 'notes' : 'remarks',
        forMs: Math.round(logBetween(random, 50, 8_000)),
        stays: random.chance(0.5),
      };
    case 'follow':
      return { f };
    case 'move':
      return { f, region: random.pick(regions) };
  }
}
