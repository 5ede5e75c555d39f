/** Claims about the copy that a node without data makes of its peers (D10). */
import { qualify } from '@isochron/core';
import { sample } from '@isochron/testing/samples';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import {
  everywhere,
  joined,
  loseDisk,
  rebuild,
  recovered,
  runRebuilding,
  versions,
} from '@isochron/testing/world/lost-disks';
import { PlainStore } from '@isochron/testing/world/plain-store';
import { World } from '@isochron/testing/world/world';
import type { CopyResp } from '../kernel/replication/messages.js';
import type { TransactionMessage } from '../kernel/transactions/messages.js';
import type { Envelope } from '../machine.js';

const V = 'virginia-1';
const O = 'oregon-1';
const I = 'ireland-1';
const EVERYONE = [V, O, I];

/** Keys of a partition in key order: a page of the plain store has three. */
const keysOf = (world: World, partition: number, count: number): string[] =>
  Array.from({ length: count * 10 }, (_, i) => qualify('default', `k${i}`))
    .filter((key) => world.topology.partitionOf(key) === partition)
    .slice(0, count)
    .sort();

const same = (world: World, partition: number): void => {
  for (const node of [V, I]) expect(versions(world, node, partition)).toEqual(versions(world, O, partition));
};

/** A filter: those of the node's page requests that the condition picks are lost. */
const withoutCopies =
  (node: string, which: (request: Extract<TransactionMessage, { type: 'CopyReq' }>, to: string) => boolean) =>
  ({ message, from, to }: Envelope<TransactionMessage>): boolean =>
    !(message.type === 'CopyReq' && from.node === node && which(message, to.node));

describe('D10: pages', () => {
  it('a page requested in a previous incarnation is never taken for one of the new copy', () => {
    for (const gap of [40, 120, 200, 280]) {
      const world = new World({ spec: everywhere(2), prefetchMs: 300 });
      const keys = [...keysOf(world, 0, 8), ...keysOf(world, 1, 8)];
      const { ct } = new TestClient(world, O).write(Object.fromEntries(keys.map((key) => [key, '"x"'])));
      world.until(() => world.ust() > ct);
      loseDisk(world, V);
      world.run(450); // in the middle of the copy: an answer is being brought to memory
      world.crash(V);
      world.run(gap);
      world.restart(V, new PlainStore());
      world.until(recovered(world, V), 20_000);
      for (const partition of [0, 1]) same(world, partition);
    }
  });

  it('groups that the source receives while its pages are read come from its peer after the copy', () => {
    const world = new World({ spec: everywhere(1) });
    const [first, ...others] = keysOf(world, 0, 8);
    const writer = new TestClient(world, O);
    for (const key of others) writer.write({ [key]: '"before"' });
    world.run(300);
    world.crash(V);
    let asked = 0;
    world.filter = withoutCopies(V, ({ start }) => start !== '' && ++asked > 0);
    world.restart(V, new PlainStore());
    world.until(() => asked > 0, 5000);
    // After the first page; the later pages have a vector that covers it.
    const { ct } = writer.write({ [first!]: '"meanwhile"' });
    world.until(() => world.node(O).parts.replicas[0]!.replication.vv.durable('oregon') >= ct, 1000);
    world.filter = () => true;
    world.until(recovered(world, V), 20_000);
    world.until(() => world.ust() >= ct, 5000);
    expect(world.node(V).store.read(0, first!, ct)).toMatchObject({ ts: ct });
    same(world, 0);
  });

  it('a copy keeps its plan to the end, although links go down meanwhile: no commit is run again', () => {
    const world = new World({ spec: everywhere(1) });
    const [key] = keysOf(world, 0, 1);
    const client = new TestClient(world, V);
    const tx = client.begin();
    tx.write(key!, '"once"');
    const request = { ...client.commitRequest(tx), snapshot: client.session.ust };
    const { ct } = world.call(V, request, 'CommitResp');
    world.until(() => world.ust() > ct, 2_000);
    world.crash(V);
    let asked = false;
    world.filter = withoutCopies(V, () => {
      asked = true;
      return true;
    });
    world.restart(V, new PlainStore());
    world.until(() => asked, 5_000);
    for (const peer of [O, I]) world.cut(V, peer);
    world.run(500);
    world.filter = () => true;
    for (const peer of [O, I]) world.heal(V, peer);
    world.until(recovered(world, V), 20_000);
    expect(world.node(V).parts.membership.incarnation).toBeGreaterThan(ct);
    expect(world.call(O, request, 'Refused').code).toBe('OUTCOME_LOST');
    same(world, 0);
  });

  it('a page is used only when it is whole: parts of two responses may lie before and after a collection', () => {
    const { world, key } = bigPage(null);
    let first: CopyResp | undefined;
    world.filter = ({ message }) => {
      if (message.type === 'CopyResp' && message.parts > 1 && message.part === 0) first ??= message;
      return !(message.type === 'CopyResp' && message.part > 0);
    };
    loseDisk(world, V);
    world.until(() => first !== undefined, 5000);
    world.run(1000);
    expect(first!.versions.some((listed) => listed.key === key)).toBe(true);
    expect(world.node(V).store.chains.size).toBe(0);
    world.filter = () => true;
    world.until(recovered(world, V), 20_000);
    world.run(8000);
    for (const node of EVERYONE) expect(new TestClient(world, node).readOnce(key)).toEqual([null]);
    same(world, 0);
  });

  it('a duplicate of a part does not stand for another part', () => {
    const { world } = bigPage('"the end"');
    let again: Envelope<TransactionMessage> | undefined;
    world.filter = (envelope) => {
      const { message } = envelope;
      if (message.type !== 'CopyResp' || message.parts < 2) return true;
      if (message.part === 0) again ??= envelope;
      return message.part === 0;
    };
    loseDisk(world, V);
    world.until(() => world.sent.some(({ message }) => message === again?.message), 5000);
    for (let i = 1; i < (again!.message as CopyResp).parts; i++) world.inject(again!.to, again!.from, again!.message);
    world.filter = () => true;
    world.until(recovered(world, V), 20_000);
    same(world, 0);
  });

  it('a page from a node that is not the source is ignored (D12)', () => {
    const world = new World({ spec: everywhere(1) });
    const { ct } = new TestClient(world, O).write({ [keyIn(world, 0)]: '"a"' });
    world.until(() => world.ust() > ct, 1000);
    let asked: { ref: number; source: string } | undefined;
    world.filter = ({ message, to }) => {
      if (message.type === 'CopyReq') asked = { ref: message.ref, source: to.node };
      return message.type !== 'CopyReq';
    };
    loseDisk(world, V);
    world.until(() => asked !== undefined, 5000);
    const { ref, source } = asked!;
    const version = { ts: ct + 1, txId: 'forged', region: 'oregon', value: '"forged"' };
    const page: CopyResp = {
      type: 'CopyResp',
      ref,
      part: 0,
      parts: 1,
      versions: [{ key: keyIn(world, 0), version }],
      next: null,
      vector: [],
      gcFloor: 0,
    };
    const to = { node: V, machine: 'rebuild' };
    world.inject(to, { node: source === O ? I : O, machine: 'replica/0' }, page);
    world.inject(to, { node: source, machine: 'replica/0' }, { ...page, ref: ref - 1 });
    world.run(100);
    expect(world.node(V).store.chains.size).toBe(0);
    world.filter = () => true;
    world.until(recovered(world, V), 20_000);
    same(world, 0);
  });

  it('the copy waits until its source has its reported groups on disk', () => {
    const world = new World({ spec: everywhere(1) });
    const key = keyIn(world, 0);
    world.run(100);
    world.cut(V, I);
    world.diskMs.set(O, Number.POSITIVE_INFINITY);
    const { ct } = new TestClient(world, V).write({ [key]: '"acknowledged"' });
    const versionVector = () => world.node(O).parts.replicas[0]!.replication.vv;
    world.until(() => versionVector().applied('virginia') >= ct, 1000);
    loseDisk(world, V);
    world.heal(V, I);
    world.run(2000);
    expect(versionVector().durable('virginia')).toBeLessThan(ct);
    expect(joined(world, V)()).toBe(false);
    world.diskMs.set(O, 1);
    world.until(recovered(world, V), 20_000);
    for (const node of EVERYONE) expect(world.node(node).store.read(0, key, ct)).toMatchObject({ ts: ct });
  });

  it("the copy includes the floor of garbage collection: reads below the source's floor are refused from the start", () => {
    const world = new World({ spec: everywhere(1), settings: { retentionMs: 100 } });
    const client = new TestClient(world, O);
    for (const value of ['"a"', '"b"']) client.write({ [keyIn(world, 0)]: value });
    world.run(5000);
    const { gcFloor } = world.node(O).parts.replicas[0]!.replication;
    expect(gcFloor).toBeGreaterThan(0);
    loseDisk(world, V);
    world.until(joined(world, V), 5000);
    expect(world.node(V).parts.replicas[0]!.replication.gcFloor).toBeGreaterThanOrEqual(gcFloor);
    expect(world.node(V).store.meta.get('gcFloor/0')).toBeGreaterThanOrEqual(gcFloor);
  });

  it('a copy without progress is given up after a while, and starts over', () => {
    const world = new World({ spec: everywhere(1) });
    new TestClient(world, O).write({ [keyIn(world, 0)]: '"a"' });
    world.run(300);
    world.crash(V);
    world.filter = withoutCopies(V, () => true);
    world.restart(V, new PlainStore());
    expect(runRebuilding(world, 40_000)).toEqual([V]);
    world.filter = () => true;
    world.until(recovered(world, V), 40_000);
    same(world, 0);
  });

  /** Several versions of one key, so large that a page with them comes in parts; the last one is given. */
  function bigPage(last: string | null): { world: World; key: string } {
    const world = new World({ spec: everywhere(1), settings: { retentionMs: 1500 } });
    const key = keyIn(world, 0);
    const client = new TestClient(world, O);
    for (const letter of ['x', 'y']) client.write({ [key]: JSON.stringify(letter.repeat(600_000)) });
    const { ct } = client.write({ [key]: last });
    world.until(() => world.ust() > ct, 1000);
    return { world, key };
  }
});

describe('D10: tolerated losses', () => {
  it('a source that loses its disk after it was copied waits for the copier: only that has its latest versions', () => {
    const world = new World({ spec: everywhere(1) });
    const key = keyIn(world, 0);
    world.run(300);
    world.cut(V, O);
    world.crash(I);
    world.run(50);
    const { ct } = new TestClient(world, V).write({ [key]: '"acknowledged"' });
    world.run(200);
    // Ireland has copied virginia, and waits for oregon's copy of its own.
    world.filter = withoutCopies(I, (_, to) => to === O);
    world.restart(I, new PlainStore());
    world.until(() => world.node(I).store.read(0, key, ct) !== undefined, 5000);
    loseDisk(world, V);
    world.heal(V, O);
    world.run(5000);
    expect([V, I].map((node) => joined(world, node)())).toEqual([false, false]);
    world.filter = () => true;
    world.until(joined(world, V), 10_000);
    expect(joined(world, I)()).toBe(true);
    world.until(() => world.ust() >= ct, 10_000);
    for (const node of EVERYONE) expect(world.node(node).store.read(0, key, ct)).toMatchObject({ ts: ct });
  });

  it('two losses that overlap lose nothing: versions that the first node had confirmed are not stable before it has them again', () => {
    const world = new World({ spec: everywhere(1) });
    const [first, ...others] = keysOf(world, 0, 8);
    const writer = new TestClient(world, O);
    for (const key of others) writer.write({ [key]: '"fill"' });
    world.run(300);
    world.cut(V, O);
    const { ct } = new TestClient(world, V).write({ [first!]: '"precious"' });
    world.run(300); // ireland has it, and has reported it
    world.cut(V, I);
    world.run(50); // oregon has received more from ireland: it will be the source
    world.crash(I);
    let pages = 0;
    world.filter = withoutCopies(I, ({ start }) => start !== '' && ++pages > 0);
    world.heal(V, I);
    world.restart(I, new PlainStore());
    world.until(() => pages > 0, 5000); // the first page came before oregon had it
    expect(rebuild(world, I).remaining![0]).toEqual({ partition: 0, from: O });
    world.heal(V, O);
    world.until(() => world.node(O).store.read(0, first!, ct)?.ts === ct, 5000);
    world.run(500);
    expect(world.ust()).toBeLessThan(ct); // ireland's old report no longer counts
    loseDisk(world, V);
    world.until(joined(world, V), 5000);
    expect(
      world
        .node(V)
        .store.ownLog(0)
        .map((entry) => entry.ct),
    ).toContain(ct);
    world.filter = () => true;
    expect(runRebuilding(world, 30_000)).toEqual([]);
    world.until(() => world.ust() > world.node(I).parts.membership.incarnation, 10_000);
    for (const node of EVERYONE) expect(world.node(node).store.read(0, first!, ct)).toMatchObject({ ts: ct });
    same(world, 0);
  });

  it('a fragment of a group that only one of its peers has reaches all of them', () => {
    const world = new World({ spec: everywhere(1) });
    const key = keyIn(world, 0);
    world.run(300);
    world.crash(V);
    const ct = fragment(world, key);
    world.restart(V, new PlainStore());
    world.until(recovered(world, V), 10_000);
    world.until(() => world.ust() >= ct, 5000);
    for (const node of EVERYONE) expect(world.node(node).store.read(0, key, ct)).toMatchObject({ ts: ct });
  });

  it('a fragment of a group never makes its source look rolled back', () => {
    const world = new World({ spec: everywhere(1) });
    new TestClient(world, V).write({ [keyIn(world, 0)]: '"a"' });
    world.run(300);
    world.crash(V);
    fragment(world, keyIn(world, 0, 'f'));
    for (let i = 0; i < 2; i++) {
      world.restart(V, new PlainStore());
      expect(runRebuilding(world, 8000)).toEqual([]);
      world.until(recovered(world, V), 1000);
      world.crash(V);
      world.run(100);
    }
  });

  it('a copied fragment does not prove a rollback either: its source and its copier lose their disks and come back', () => {
    const world = new World({ spec: everywhere(1) });
    new TestClient(world, V).write({ [keyIn(world, 0)]: '"a"' });
    world.run(300);
    world.crash(V);
    fragment(world, keyIn(world, 0, 'f'));
    world.crash(O);
    for (const node of [O, V]) world.restart(node, new PlainStore());
    expect(runRebuilding(world, 8_000)).toEqual([]);
    for (const node of [O, V]) expect(joined(world, node)()).toBe(true);
  });

  it('collected versions above the observed version clock travel with the first range, whenever that leaves', () => {
    for (let phase = 0; phase < 24; phase++) {
      const world = new World({ spec: everywhere(1), delayMs: () => 1, settings: { idleBackoff: 20 } });
      const key = keyIn(world, 0, 'f');
      world.run(3_000);
      world.crash(V);
      const ct = fragment(world, key);
      world.run(phase);
      world.restart(V, new PlainStore());
      world.until(recovered(world, V), 20_000);
      world.until(() => world.ust() >= ct, 5_000);
      for (const node of EVERYONE) expect(world.node(node).store.read(0, key, ct)).toMatchObject({ ts: ct });
    }
  });

  /**
   * Sends ireland the first fragment of a group of virginia's; the link loses the rest. Returns the group's timestamp.
   */
  function fragment(world: World, key: string): number {
    const have = world.node(I).parts.replicas[0]!.replication.vv.applied('virginia');
    const ct = have + 100;
    const txs = [{ txId: 'fragment.1', writes: [{ key, value: '"f"' }] }];
    world.inject(
      { node: I, machine: 'replica/0' },
      { node: V, machine: 'replica/0' },
      sample('Replicate', { source: 'virginia', from: have, to: have, groups: [{ ct, txs }] }),
    );
    world.run(50);
    return ct;
  }
});

describe('D10: the new log', () => {
  it('the new log is truncated like any other one when its last group is stable', () => {
    const world = new World({ spec: everywhere(1) });
    world.run(100);
    world.cut(V, I);
    const { ct } = new TestClient(world, V).write({ [keyIn(world, 0)]: '"not stable"' });
    world.until(() => world.node(O).parts.replicas[0]!.replication.vv.durable('virginia') >= ct, 1000);
    loseDisk(world, V);
    world.heal(V, I);
    world.until(joined(world, V), 5000);
    expect(
      world
        .node(V)
        .store.ownLog(0)
        .map((entry) => entry.ct),
    ).toEqual([ct]);
    expect(world.node(V).parts.replicas[0]!.replication.lastLogged).toBe(ct);
    world.until(() => world.ust() > ct, 5000);
    world.run(1500);
    expect(world.node(V).store.ownLog(0)).toEqual([]);
  });
});
