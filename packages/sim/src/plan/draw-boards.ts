/** Draws boards under access rules: their owners, and those who write (AR8, AR9). */
import type { Random, Topology } from '@isochron/core';
import { exponential, integer, logBetween, rounded, weighted } from '@isochron/simulated-world/draws';
import type { AlbumsPlan, BoardSessionPlan, BoardStepPlan, BoardsPlan, WritePlace } from './plan.js';

/** Some runs with albums have boards. */
export const withBoards = (random: Random, topology: Topology, albums: AlbumsPlan | undefined) =>
  albums !== undefined && random.chance(0.5) ? { ...albums, boards: drawSomeBoards(random, topology) } : albums;

interface BoardScene {
  readonly random: Random;
  readonly regions: readonly string[];
  readonly boards: readonly string[];
  readonly writers: readonly string[];
}

/** Boards for a run that has some. */
export function drawSomeBoards(random: Random, topology: Topology): BoardsPlan {
  const boards = Array.from({ length: integer(random, 1, 3) }, (_, i) => `${i}`);
  const writers = Array.from({ length: integer(random, 2, 5) }, (_, i) => `guest-writer${i}`);
  const scene = { random, regions: topology.regions, boards, writers };
  return {
    closesMs: Math.round(logBetween(random, 200, 3_000)),
    sessions: [
      ...boards.map((board) => ownerSession(scene, board)),
      ...writers.map((one) => writerSession(scene, one)),
    ],
  };
}

/** A step without its pause. */
type Unpaused<S> = S extends unknown ? Omit<S, 'thinkMs'> : never;
type Draw = () => Unpaused<BoardStepPlan>;

/** Founds a board, and admits and dismisses writers. */
function ownerSession(scene: BoardScene, board: string): BoardSessionPlan {
  const { random, regions, writers } = scene;
  const draw: Draw = () => {
    const f = weighted(random, [
      ['admit', 4],
      ['dismiss', 3],
      ['enter', 1],
      ['move', 0.2],
    ] as const);
    if (f === 'move') return { f, region: random.pick(regions) };
    if (f === 'enter') return { f, board, place: placeOf(random) };
    return { f, board, writer: random.pick(writers) };
  };
  const founds: BoardStepPlan = {
    f: 'found',
    thinkMs: Math.round(logBetween(random, 1, 500)),
    board,
    place: 'one-shot',
  };
  return session(scene, `chair${board}`, `owner-chair${board}`, [founds, ...stepsOf(scene, 20, 150, draw)]);
}

/** Enters what it may, and what it may not, and tries to found each board over what is there. */
function writerSession(scene: BoardScene, writer: string): BoardSessionPlan {
  const { random, regions, boards } = scene;
  const draw: Draw = () => {
    const f = weighted(random, [
      ['enter', 6],
      ['bid', 2],
      ['move', 0.3],
    ] as const);
    if (f === 'move') return { f, region: random.pick(regions) };
    const place = placeOf(random);
    return f === 'bid' ? { f, place } : { f, board: random.pick(boards), place };
  };
  const steps = stepsOf(scene, 40, 80, draw);
  for (const board of boards) {
    if (!random.chance(0.5)) continue;
    const founds = { f: 'found', thinkMs: 0, board, place: placeOf(random) } as const;
    steps.splice(random.below(steps.length), 0, founds);
  }
  return session(scene, writer, writer, steps);
}

const placeOf = (random: Random): WritePlace =>
  weighted(random, [
    ['one-shot', 2],
    ['open', 1],
    ['past', 1.5],
  ] as const);

function stepsOf({ random }: BoardScene, most: number, meanMs: number, draw: Draw): BoardStepPlan[] {
  const mean = meanMs * logBetween(random, 0.2, 2);
  return Array.from({ length: integer(random, 5, most) }, () => ({
    thinkMs: rounded(exponential(random, mean)),
    ...draw(),
  }));
}

const session = (
  { random, regions }: BoardScene,
  name: string,
  principal: string,
  steps: readonly BoardStepPlan[],
): BoardSessionPlan => ({ name, principal, region: random.pick(regions), steps });
