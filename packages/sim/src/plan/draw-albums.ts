/** Draws albums under access rules: their owners, and those who look on (AR1). */
import type { Random, Topology } from '@isochron/core';
import { exponential, integer, logBetween, rounded, weighted } from '@isochron/simulated-world/draws';
import type { AlbumSessionPlan, AlbumStepPlan, AlbumsPlan } from './plan.js';

/** Undefined for runs without access rules. */
export const drawAlbums = (random: Random, topology: Topology): AlbumsPlan | undefined =>
  random.chance(0.1) ? drawSomeAlbums(random, topology) : undefined;

/** Albums for a run that has some. */
export function drawSomeAlbums(random: Random, topology: Topology): AlbumsPlan {
  const owners = Array.from({ length: integer(random, 1, 2) }, (_, i) => `owner${i}`);
  const readers = Array.from({ length: integer(random, 2, 6) }, (_, i) => `guest${i}`);
  const scene = { random, regions: topology.regions, owners, readers };
  return {
    keyspace: random.pick(topology.keyspaces),
    sessions: [
      ...owners.flatMap((owner) => [ownerSession(scene, owner), deviceSession(scene, owner)]),
      ...readers.flatMap((reader) =>
        Array.from({ length: random.chance(0.3) ? 2 : 1 }, (_, i) => guestSession(scene, reader, i)),
      ),
    ],
  };
}

interface AlbumScene {
  readonly random: Random;
  readonly regions: readonly string[];
  readonly owners: readonly string[];
  readonly readers: readonly string[];
}

/** A step of a kind of session, without its pause. */
type Draw = () => Unpaused<AlbumStepPlan>;
type Unpaused<S> = S extends unknown ? Omit<S, 'thinkMs'> : never;

/** Creates the album, changes who may see it, and adds photos. */
function ownerSession(scene: AlbumScene, owner: string): AlbumSessionPlan {
  const { random, readers } = scene;
  const draw: Draw = () => {
    const f = weighted(random, [
      ['invite', 3],
      ['remove', 2],
      ['add', 5],
      ['take', 1],
      ['move', 0.3],
    ] as const);
    if (f === 'move') return { f, region: random.pick(scene.regions) };
    if (f === 'add') return { f, album: owner };
    if (f === 'take') return { f };
    const reader = random.pick(readers);
    return f === 'remove' ? { f, reader } : { f, reader, takes: random.pick(['none', 'oldest', 'new'] as const) };
  };
  const steps = stepsOf(scene, 20, 150, draw);
  return session(scene, owner, owner, [{ f: 'create', thinkMs: 0 }, { f: 'add', thinkMs: 0, album: owner }, ...steps]);
}

/** Another session of an owner, which adds photos. */
const deviceSession = (scene: AlbumScene, owner: string): AlbumSessionPlan =>
  session(
    scene,
    `${owner}-device`,
    owner,
    stepsOf(scene, 10, 200, () => ({ f: 'add', album: owner })),
  );

/** Reads in all ways, and now and then tries to write. */
function guestSession(scene: AlbumScene, reader: string, number: number): AlbumSessionPlan {
  const { random, owners, regions } = scene;
  const draw: Draw = () => {
    const f = weighted(random, [
      ['get', 4],
      ['list', 4],
      ['live', 1],
      ['follow', 2],
      ['add', 0.5],
      ['move', 0.5],
    ] as const);
    const album = random.pick(owners);
    switch (f) {
      case 'get':
        return { f, album, back: random.below(5) };
      case 'live':
        return { f, album, forMs: Math.round(logBetween(random, 50, 8_000)) };
      case 'follow':
        return { f, album, pages: integer(random, 2, 10), pauseMs: Math.round(logBetween(random, 1, 3_000)) };
      case 'move':
        return { f, region: random.pick(regions) };
      case 'list':
        return { f, album, ageMs: random.chance(0.5) ? 0 : Math.round(logBetween(random, 10, 3_000)) };
      case 'add':
        return { f, album };
    }
  };
  return session(scene, `${reader}-${number}`, reader, stepsOf(scene, 60, 60, draw));
}

function stepsOf({ random }: AlbumScene, most: number, meanMs: number, draw: Draw): AlbumStepPlan[] {
  const mean = meanMs * logBetween(random, 0.2, 2);
  return Array.from({ length: integer(random, 5, most) }, () => ({
    thinkMs: rounded(exponential(random, mean)),
    ...draw(),
  }));
}

const session = (
  { random, regions }: AlbumScene,
  name: string,
  principal: string,
  steps: readonly AlbumStepPlan[],
): AlbumSessionPlan => ({ name, principal, region: random.pick(regions), steps });
