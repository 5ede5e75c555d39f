import { Topology } from '@isochron/core';
import { type Plan, PROTOCOLS } from '@isochron/sim';
import { Streams } from '@isochron/sim/engine/streams';
import { drawSomeAlbums } from '@isochron/sim/plan/draw-albums';
import { drawSomeBoards } from '@isochron/sim/plan/draw-boards';
import { drawSomeNotes } from '@isochron/sim/plan/draw-notes';
import { expectPassed, freshSeeds } from './command.js';

const paris = PROTOCOLS.get('paris')!;

/** A plan of the seed that has albums and boards. */
function planWithAlbums(seed: number): Plan {
  const plan = paris.draw(seed);
  const [streams, topology] = [new Streams(seed), Topology.of(plan.cluster)];
  const boards = drawSomeBoards(streams.of('boards'), topology);
  return { ...plan, albums: { ...drawSomeAlbums(streams.of('albums'), topology), boards } };
}

/** A plan of the seed that has notes alone. */
function planWithNotes(seed: number): Plan {
  const plan = paris.draw(seed);
  const topology = Topology.of(plan.cluster);
  const notes = drawSomeNotes(new Streams(seed).of('notes'), topology);
  return { ...plan, albums: { keyspace: topology.keyspaces[0]!, sessions: [], notes } };
}

describe('albums under access rules', () => {
  it('no photo is shown after a removal (AR1), and no write takes effect without permission (AR8), under all faults', async () => {
    await expectPassed(freshSeeds().map(planWithAlbums));
  }, 300_000);

  it('no answer names a note that its principal may not see (AR10, LQ7), under all faults', async () => {
    await expectPassed(freshSeeds().map(planWithNotes));
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
