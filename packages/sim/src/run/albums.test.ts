import { Topology } from '@isochron/core';
import { Streams } from '../engine/streams.js';
import { drawSomeAlbums } from '../plan/draw-albums.js';
import { drawSomeBoards } from '../plan/draw-boards.js';
import { drawSomeNotes } from '../plan/draw-notes.js';
import type { Plan } from '../plan/plan.js';
import { PROTOCOLS } from '../protocols/index.js';
import { runSeed } from './run-seed.js';

/** Other seeds in each run of the tests, beside those of the tests in `test/sim`; `SEED` repeats one. */
const FIRST = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));
const SEEDS = process.env.SEED === undefined ? 2 : 1;

const paris = PROTOCOLS.get('paris')!;

/** A plan of the seed that has albums and boards. */
function planWithAlbums(seed: number): Plan {
  const plan = paris.draw(seed);
  const [streams, topology] = [new Streams(seed), new Topology(plan.cluster)];
  const boards = drawSomeBoards(streams.of('boards'), topology);
  return { ...plan, albums: { ...drawSomeAlbums(streams.of('albums'), topology), boards } };
}

/** A plan of the seed that has notes alone. */
function planWithNotes(seed: number): Plan {
  const plan = paris.draw(seed);
  const topology = new Topology(plan.cluster);
  const notes = drawSomeNotes(new Streams(seed).of('notes'), topology);
  return { ...plan, albums: { keyspace: topology.keyspaces[0]!, sessions: [], notes } };
}

describe('albums under access rules', () => {
  it('no photo is shown after a removal (AR1), and no write takes effect without permission (AR8), under all faults', () => {
    for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
      const { failures } = runSeed('paris', planWithAlbums(seed));
      expect({ SEED: seed, failures }).toEqual({ SEED: seed, failures: [] });
    }
  }, 300_000);

  it('no answer names a note that its principal may not see (AR10, LQ7), under all faults', () => {
    for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
      const { failures } = runSeed('paris', planWithNotes(seed));
      expect({ SEED: seed, failures }).toEqual({ SEED: seed, failures: [] });
    }
  }, 300_000);

  it('a part of the plans of PaRiS has albums, with every kind of step', () => {
    const plans = Array.from({ length: 300 }, (_, seed) => paris.draw(seed)).filter(({ albums }) => albums);
    expect(plans.length).toBeGreaterThan(12);
    expect(plans.length).toBeLessThan(60);
    const steps = plans.flatMap((plan) => plan.albums!.sessions.flatMap((session) => session.steps));
    const kinds = ['add', 'create', 'follow', 'get', 'invite', 'list', 'live', 'move', 'remove', 'take'];
    expect([...new Set(steps.map(({ f }) => f))].sort()).toEqual(kinds);
    const boards = plans.flatMap(({ albums }) => albums!.boards?.sessions ?? []);
    const written = [...new Set(boards.flatMap((session) => session.steps.map(({ f }) => f)))];
    expect(written.sort()).toEqual(['admit', 'bid', 'dismiss', 'enter', 'found', 'move']);
    const notes = plans.flatMap(({ albums }) => albums!.notes?.sessions ?? []);
    const noted = [...new Set(notes.flatMap((session) => session.steps.map(({ f }) => f)))];
    expect(noted.sort()).toEqual(['delete', 'follow', 'hand', 'list', 'live', 'move', 'rewrite', 'write']);
  });

  it('plans of protocols without stable snapshots have no albums', () => {
    const others = [...PROTOCOLS.values()].filter(({ name }) => name !== 'paris');
    for (const protocol of others)
      for (let seed = 0; seed < 20; seed++) expect(protocol.draw(seed).albums).toBeUndefined();
  });
});
