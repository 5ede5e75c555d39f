import type { DurableRecord, MetaValue } from '@isochron/core';
import { World } from '@isochron/testing/world/world';
import fc from 'fast-check';
import { LOSS_REPORTS_MACHINE } from './loss-reports.js';
import { type Loss, Losses } from './losses.js';

const loss = (txId: string, changes: Partial<Loss> = {}): Loss => ({
  txId,
  ts: 100,
  attempt: 0,
  committed: true,
  takenBack: false,
  node: 'oregon-1',
  partitions: [3],
  keys: ['default/a'],
  acknowledged: false,
  overtaken: false,
  ...changes,
});

/** A disk that holds the latest meta record. */
class Disk {
  meta: MetaValue | undefined;
  writes = 0;

  write(record: DurableRecord): number {
    if (record.kind !== 'meta' || record.name !== 'losses') throw new Error(`unexpected record ${record.kind}`);
    this.meta = record.value;
    return ++this.writes;
  }
}

function opened() {
  const disk = new Disk();
  const reported: string[][] = [];
  const losses = new Losses(undefined, (lost) => reported.push(lost.map(({ txId }) => txId)));
  return { disk, reported, losses, ids: () => losses.all.map(({ txId }) => txId) };
}

describe('losses', () => {
  it('losses are open until an operator acknowledges them, all or by name', () => {
    const { losses, disk } = opened();
    losses.add([loss('a'), loss('b'), loss('c')], disk);
    expect(losses.open.map(({ txId }) => txId)).toEqual(['a', 'b', 'c']);
    expect(losses.acknowledge(['b', 'unknown', 'b'], disk)).toBe(1);
    expect(losses.open.map(({ txId }) => txId)).toEqual(['a', 'c']);
    expect(losses.get('b')).toEqual(loss('b', { acknowledged: true }));
    expect(losses.acknowledge('all', disk)).toBe(2);
    expect([losses.open, losses.all.length]).toEqual([[], 3]);
  });

  it('losses are in the meta record after every change, and nothing is written without a change', () => {
    const { losses, disk } = opened();
    losses.add([loss('a')], disk);
    losses.acknowledge('all', disk);
    expect(disk.writes).toBe(2);
    losses.add([], disk);
    losses.add([loss('a')], disk);
    losses.acknowledge('all', disk);
    losses.acknowledge(['unknown'], disk);
    expect(disk.writes).toBe(2);
    expect(new Losses(disk.meta).all).toEqual([loss('a', { acknowledged: true })]);
  });

  it('losses come back from the meta record as they were, whatever their keys are', () => {
    const text = fc.string({ unit: 'binary', maxLength: 12 });
    const any = fc.record<Loss>({
      txId: fc.string({ minLength: 1, maxLength: 8 }),
      ts: fc.nat(),
      attempt: fc.nat({ max: 20 }),
      committed: fc.boolean(),
      takenBack: fc.boolean(),
      node: text,
      partitions: fc.uniqueArray(fc.nat({ max: 50 })),
      keys: fc.uniqueArray(fc.oneof(text, fc.constantFrom('__proto__', '0', '1.key.2', 'a\nb'))),
      acknowledged: fc.boolean(),
      overtaken: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.uniqueArray(any, { selector: ({ txId }) => txId }), (losses) => {
        const disk = new Disk();
        new Losses(undefined).add(losses, disk);
        expect(new Losses(disk.meta).records).toEqual(losses);
      }),
      { seed: 11 },
    );
  });

  it('a loss whose transaction has committed in a later attempt is no loss any more, for good', () => {
    const { disk, losses } = opened();
    losses.add([loss('a', { attempt: 1, takenBack: true }), loss('b')], disk);
    losses.overtake('a', disk);
    for (const one of [losses, new Losses(disk.meta)]) {
      expect(one.all).toEqual([loss('b')]);
      expect(one.open).toEqual([loss('b')]);
      expect(one.get('a')).toBeUndefined();
      // The verdict about the attempt that was lost stands.
      expect(one.isTakenBack('a', loss('a').ts)).toBe(true);
    }
  });

  it('the same report of an overtaken loss changes nothing, and the loss of a later attempt is one', () => {
    const { disk, losses } = opened();
    losses.add([loss('a', { attempt: 1 })], disk);
    losses.overtake('a', disk);
    losses.add([loss('a', { attempt: 1 })], disk);
    expect(losses.all).toEqual([]);
    losses.add([loss('a', { attempt: 2 })], disk);
    expect(losses.all).toEqual([loss('a', { attempt: 2 })]);
    losses.add([loss('a', { attempt: 1, overtaken: true })], disk);
    expect(losses.all).toEqual([loss('a', { attempt: 2 })]);
    losses.add([loss('a', { attempt: 2, overtaken: true })], disk);
    expect(losses.all).toEqual([]);
  });

  it('losses that this version cannot read are left out, and a record of another shape is no loss', () => {
    const { disk } = opened();
    new Losses(undefined).add([loss('a')], disk);
    const odd = { ...(disk.meta as object), '1.tx.b': 5, '2.new.c': 7, nonsense: 1, '3.flags.': 2 };
    expect(new Losses(odd).all).toEqual([loss('a')]);
    for (const meta of [undefined, 5, {}]) expect(new Losses(meta).all).toEqual([]);
  });

  it('losses of one transaction that several replicas report are one loss, with the keys of all', () => {
    const { losses, disk, reported } = opened();
    losses.add([loss('a', { ts: 90, committed: false, takenBack: true })], disk);
    losses.add([loss('a', { ts: 120, committed: true, takenBack: true, partitions: [4], keys: ['default/b'] })], disk);
    losses.add([loss('a', { ts: 80, committed: false, takenBack: false, keys: ['default/a', 'default/c'] })], disk);
    const keys = ['default/a', 'default/b', 'default/c'];
    expect(losses.all).toEqual([loss('a', { ts: 120, takenBack: false, partitions: [3, 4], keys })]);
    expect(reported).toEqual([['a'], ['a'], ['a']]);
  });

  it('losses are open again when more of them is found after they were acknowledged', () => {
    const { losses, disk, reported } = opened();
    losses.add([loss('a'), loss('b')], disk);
    losses.acknowledge('all', disk);
    losses.add([loss('a'), loss('b', { keys: ['default/z'] })], disk);
    expect(losses.open.map(({ txId }) => txId)).toEqual(['b']);
    expect(reported).toEqual([['a', 'b'], ['b']]);
  });

  it('losses are at most 10,000: above, the oldest acknowledged ones go first, then the oldest', () => {
    const { losses, disk, ids } = opened();
    const names = Array.from({ length: 10_000 }, (_, i) => `t${i}`);
    losses.add(
      names.map((name) => loss(name)),
      disk,
    );
    losses.acknowledge(['t1', 't5'], disk);
    losses.add([loss('new')], disk);
    expect([ids().length, losses.get('t1'), losses.get('t5')?.acknowledged]).toEqual([10_000, undefined, true]);
    losses.add([loss('new2'), loss('new3')], disk);
    expect(losses.get('t5')).toBeUndefined();
    expect(ids().slice(0, 3)).toEqual(['t2', 't3', 't4']);
    expect(ids().slice(-3)).toEqual(['new', 'new2', 'new3']);
    expect(new Losses(disk.meta).all).toEqual(losses.all);
  });
});

describe('acknowledging losses', () => {
  const node = 'virginia-1';
  const client = { node, machine: 'client' };
  const to = { node, machine: LOSS_REPORTS_MACHINE };
  const world = () => {
    const made = new World();
    made.run(300);
    const { parts, store } = made.node(node);
    parts.losses.add([loss('a'), loss('b')], { write: (record) => Number(store.apply(record)) });
    return made;
  };
  const answer = (of: World, ref: number) => of.node(node).client.answers.get(ref);

  it('acknowledging losses is answered once it is durable, and outlives a crash', () => {
    const on = world();
    on.inject(to, client, { type: 'AcknowledgeLossesReq', ref: 7, transactions: ['a'] });
    expect(answer(on, 7)).toBeUndefined();
    on.run(100);
    expect(answer(on, 7)).toEqual({ type: 'AcknowledgeLossesResp', ref: 7, acknowledged: 1 });
    on.crash(node);
    on.restart(node);
    expect(on.node(node).parts.losses.open).toEqual([loss('b')]);
    on.inject(to, client, { type: 'AcknowledgeLossesReq', ref: 8, transactions: null });
    on.run(100);
    expect(answer(on, 8)).toMatchObject({ acknowledged: 1 });
    expect(on.node(node).parts.losses.open).toEqual([]);
  });

  it('acknowledging losses is refused to other nodes', () => {
    const on = world();
    on.inject(
      to,
      { node: 'oregon-1', machine: 'client' },
      { type: 'AcknowledgeLossesReq', ref: 7, transactions: null },
    );
    on.run(500);
    expect(on.node(node).parts.losses.open).toHaveLength(2);
    expect(on.node('oregon-1').client.answers.get(7)).toBeUndefined();
  });
});
