import type { QualifiedKey, Timestamp } from '@isochron/core/ids';
import { Update } from '@isochron/core/updates/update';
import { World } from '@isochron/testing/client/world';
import { type MemoryNode, memoryNodes, refusal } from '@isochron/testing/nodes/memory-node';
import type { LiveDocument, LiveObserver, LiveScope, ScopeView } from './live/observer.js';

/** Records its calls: each as its snapshot and, for each scope, its documents; a star marks pending ones. */
class Recorded implements LiveObserver {
  readonly calls: { readonly snapshot: Timestamp; readonly shown: string[]; readonly changed: string[] }[] = [];
  error: string | undefined;
  documents: ReadonlyMap<QualifiedKey, LiveDocument> = new Map();

  next(snapshot: Timestamp, views: readonly ScopeView[]): void {
    this.documents = views[0]!.documents;
    const shown = views.map(({ documents }) =>
      [...documents.values()].map(({ key, value, pending }) => `${key}=${value}${pending ? '*' : ''}`).sort(),
    );
    const changed = views.flatMap((view) => [...view.changed]).sort();
    this.calls.push({ snapshot, shown: shown.map((one) => one.join(' ')), changed });
  }

  failed({ code }: { readonly code: string }): void {
    this.error = code;
  }

  get last(): string[] | undefined {
    return this.calls.at(-1)?.shown;
  }
}

const ALL_KEYS: LiveScope = { start: 'default/', end: 'default0' };

/** A client of some nodes, with a document `default/a`. */
function scene(names: readonly string[] = ['east']) {
  const nodes = memoryNodes(...names);
  const { cluster } = nodes[0]!;
  for (const node of nodes.slice(1)) node.delayMs = 10;
  const world = new World(nodes);
  const other = (writes: Record<string, string | null>): Timestamp =>
    cluster.write(Object.fromEntries(Object.entries(writes).map(([key, value]) => [`default/${key}`, value])));
  /** Everything so far becomes stable, in all regions or in these. */
  const stabilise = (...regions: readonly string[]): void => {
    cluster.stabilise(...regions);
    world.run(30);
  };
  other({ a: '1' });
  cluster.hold();
  cluster.stabilise();
  world.ask({ f: 'connect' });
  const watch = (...scopes: LiveScope[]): Recorded => {
    const observer = new Recorded();
    world.watch(observer, ...scopes);
    world.run(30);
    return observer;
  };
  return { cluster, world, nodes, node: nodes[0]!, second: nodes[1]!, other, stabilise, watch };
}

/** Access rules end the watch of a key with its next changes. */
function ends(node: MemoryNode, key: QualifiedKey): void {
  const scopes = node.received('live').flatMap(({ add = [] }) => add);
  const ended = scopes
    .filter(({ keys }) => keys?.includes(key))
    .map(({ watch }) => [watch, 'PERMISSION_DENIED', 'The access rule album refuses it.'] as const);
  node.sends = (frame) => {
    if (frame.type !== 'live') return frame;
    node.sends = (later) => later;
    return { ...frame, ended };
  };
}

const increment = new Update(JSON.stringify([{ op: 'increment', path: '', by: 1 }]));

describe('a watch', () => {
  it('the first call has all scopes of an observer, and each later one the changed ones, at one snapshot (LQ1)', () => {
    const { watch, other, stabilise, cluster } = scene();
    const observer = watch(ALL_KEYS, { keys: ['default/b'] });
    const first = cluster.ust;
    other({ b: '2', c: '3' });
    stabilise();
    expect(observer.calls).toEqual([
      { snapshot: first, shown: ['default/a=1', ''], changed: ['default/a'] },
      {
        snapshot: cluster.ust,
        shown: ['default/a=1 default/b=2 default/c=3', 'default/b=2'],
        changed: ['default/b', 'default/b', 'default/c'],
      },
    ]);
  });

  it('a new watch joins the position of the others, and all of them move together (LQ1)', () => {
    const { watch, other, stabilise, world } = scene();
    const first = watch(ALL_KEYS);
    other({ a: '2' });
    const second = new Recorded();
    world.watch(second, { keys: ['default/a'] });
    stabilise();
    other({ a: '3' });
    stabilise();
    expect([first.last, second.last]).toEqual([['default/a=3'], ['default/a=3']]);
    expect(first.calls.at(-1)!.snapshot).toBe(second.calls.at(-1)!.snapshot);
  });

  it('an unchanged document stays the same object, and two watches share it', () => {
    const { watch, other, stabilise } = scene();
    const first = watch(ALL_KEYS);
    const second = watch({ keys: ['default/a'] });
    const document = first.documents.get('default/a');
    other({ b: '2' });
    stabilise();
    expect(first.documents.get('default/a')).toBe(document);
    expect(second.documents.get('default/a')).toBe(document);
  });

  it('an observer is not called for changes elsewhere, nor without a change', () => {
    const { watch, other, stabilise, world } = scene();
    const observer = watch({ keys: ['default/a'] });
    other({ b: '2' });
    stabilise();
    world.run(130_000);
    expect(observer.calls).toHaveLength(1);
  });

  it('an observer of the same scope as another one is called at once, without a request', () => {
    const { watch, world, node } = scene();
    watch(ALL_KEYS);
    const requests = node.frames.length;
    const observer = new Recorded();
    world.watch(observer, ALL_KEYS);
    expect(observer.last).toEqual(['default/a=1']);
    world.run(30);
    expect(node.frames).toHaveLength(requests);
  });

  it('a watch that ends is removed at the node, and is not called again', () => {
    const { watch, world, node, other, stabilise } = scene();
    const observer = watch(ALL_KEYS);
    world.unwatch(observer);
    world.run(30);
    expect(node.received('live').at(-1)!.remove).toHaveLength(1);
    other({ a: '2' });
    stabilise();
    expect(observer.calls).toHaveLength(1);
  });

  it('a watch of more documents than the limit fails with WATCH_TOO_LARGE, also when it grows', () => {
    const { watch, other, stabilise } = scene();
    const keys = Array.from({ length: 10_001 }, (_, i) => `default/k${i}`);
    expect(watch({ keys }).error).toBe('WATCH_TOO_LARGE');
    const observer = watch({ keys: ['default/a', 'default/b'] });
    other({ a: JSON.stringify('x'.repeat(9 * 2 ** 20)) });
    stabilise();
    expect(observer.error).toBeUndefined();
    other({ b: JSON.stringify('x'.repeat(9 * 2 ** 20)) });
    stabilise();
    expect(observer.error).toBe('WATCH_TOO_LARGE');
  });

  it('a watch under another protocol, of a closed client, or of no keys ends with its code', () => {
    const [plain] = memoryNodes('east');
    plain.lacks('live-queries', 'changes');
    const world = new World([plain]);
    world.ask({ f: 'connect' });
    const [unsupported, empty, closed, late] = [new Recorded(), new Recorded(), new Recorded(), new Recorded()];
    world.watch(unsupported, ALL_KEYS);
    const other = scene();
    other.world.watch(empty, { keys: [] });
    other.world.watch(closed, ALL_KEYS);
    other.world.ask({ f: 'close' });
    other.world.watch(late, ALL_KEYS);
    expect([unsupported, empty, closed, late].map(({ error }) => error)).toEqual([
      'NOT_SUPPORTED_BY_PROTOCOL',
      'INVALID_REQUEST',
      'CLIENT_CLOSED',
      'CLIENT_CLOSED',
    ]);
  });

  it('a scope that the node refuses ends its observers, and the others go on', () => {
    const { watch, other, stabilise, node } = scene();
    const good = watch(ALL_KEYS);
    node.script = (frame) =>
      'id' in frame && (frame.type === 'list' || frame.type === 'live') && JSON.stringify(frame).includes('nowhere')
        ? refusal(frame.id, 'KEYSPACE_UNKNOWN', false)
        : undefined;
    expect(watch({ start: 'nowhere/a', end: 'nowhere/b' }).error).toBe('KEYSPACE_UNKNOWN');
    node.script = () => undefined;
    other({ a: '2' });
    stabilise();
    expect([good.last, good.error]).toEqual([['default/a=2'], undefined]);
  });

  it('a scope that access rules end ends its observers with PERMISSION_DENIED, and the others go on (AR4)', () => {
    const { watch, other, stabilise, node } = scene();
    const [one, two, kept] = [watch({ keys: ['default/a'] }), watch({ keys: ['default/a'] }), watch(ALL_KEYS)];
    ends(node, 'default/a');
    other({ a: '2' });
    stabilise();
    expect([one.error, two.error, kept.error]).toEqual(['PERMISSION_DENIED', 'PERMISSION_DENIED', undefined]);
    expect([one.last, kept.last]).toEqual([['default/a=1'], ['default/a=2']]);
    other({ a: '3' });
    stabilise();
    expect([one.last, kept.last]).toEqual([['default/a=1'], ['default/a=3']]);
    expect(node.received('live').flatMap(({ remove = [] }) => remove)).toHaveLength(1);
  });

  it('an observer of several scopes ends with one of them, and its other scopes are removed (AR4)', () => {
    const { watch, other, stabilise, node } = scene();
    const kept = watch({ keys: ['default/c'] });
    const several = watch(ALL_KEYS, { keys: ['default/a'] });
    ends(node, 'default/a');
    other({ a: '2', c: '2' });
    stabilise();
    expect([several.error, several.last, kept.last]).toEqual([
      'PERMISSION_DENIED',
      ['default/a=1', 'default/a=1'],
      ['default/c=2'],
    ]);
    expect(node.received('live').flatMap(({ remove = [] }) => remove)).toHaveLength(2);
  });
});

describe('own writes', () => {
  it('a first read that is refused is repeated until a snapshot has the own writes that permit it (AR3)', () => {
    const { world, watch, node, cluster, stabilise } = scene();
    world.write('b', '2');
    world.run(30);
    // The rule reads the own write: there is no permission in a snapshot without it.
    node.script = (frame) =>
      frame.type === 'list' && cluster.ust < cluster.clock ? refusal(frame.id, 'PERMISSION_DENIED', false) : undefined;
    const observer = watch(ALL_KEYS);
    expect([observer.error, observer.calls.length]).toEqual([undefined, 0]);
    stabilise();
    world.run(10_000);
    expect([observer.error, observer.last]).toEqual([undefined, ['default/a=1 default/b=2']]);
  });

  it('a first read that is refused ends its observer where the session has no own writes (AR3)', () => {
    const { watch, node } = scene();
    node.script = (frame) => (frame.type === 'list' ? refusal(frame.id, 'PERMISSION_DENIED', false) : undefined);
    expect(watch(ALL_KEYS).error).toBe('PERMISSION_DENIED');
  });

  it('an own write shows with the call that wrote, pending until the snapshot has it, and never goes away (LQ2)', () => {
    const { watch, world, stabilise, cluster } = scene();
    const observer = watch(ALL_KEYS);
    world.write('b', '2');
    expect(observer.last).toEqual(['default/a=1 default/b=2*']);
    world.run(50);
    expect(cluster.outcomes.size).toBe(2);
    stabilise();
    const shown = observer.calls.map((call) => call.shown[0]);
    expect(shown).toEqual(['default/a=1', 'default/a=1 default/b=2*', 'default/a=1 default/b=2']);
  });

  it('an own update is laid over once, and the writes of a transaction show together (F5, LQ2)', () => {
    const { watch, world, other, stabilise } = scene();
    const observer = watch(ALL_KEYS);
    world.step({ kind: 'begin', handle: 1, mode: 'transaction' });
    const { tx } = world.machine.handle(1);
    tx.write('default/a', increment);
    tx.write('default/b', '9');
    world.call({ f: 'commit', handle: 1 });
    expect(observer.last).toEqual(['default/a=2* default/b=9*']);
    world.run(50);
    other({ c: '3' });
    stabilise();
    expect(observer.last).toEqual(['default/a=2 default/b=9 default/c=3']);
  });

  it("an own write stays when the session's snapshot is ahead of the position (LQ2)", () => {
    const { watch, world, node, cluster } = scene();
    const observer = watch(ALL_KEYS);
    world.write('b', '2');
    world.run(50);
    // The session sees a later stable time, before the feed has brought the write.
    const freshness = { now: 0, stalenessMs: 0, stale: false, heldBackBy: null };
    node.push({ type: 'ust', ust: cluster.clock, freshness });
    world.run(50);
    world.write('c', '3');
    expect(world.machine.core.session.ust).toBe(cluster.clock);
    expect(observer.last).toEqual(['default/a=1 default/b=2* default/c=3*']);
  });

  it('a refused write goes, and a write of unknown outcome stays until it is given up (LQ2)', () => {
    const { watch, world, node } = scene();
    const observer = watch(ALL_KEYS);
    node.script = (frame) => (frame.type === 'commit' ? refusal(frame.id, 'KEY_INVALID', false) : undefined);
    world.write('b', '2');
    world.run(50);
    expect(observer.last).toEqual(['default/a=1']);
    node.script = (frame) => (frame.type === 'commit' ? 'drop' : undefined);
    const unknown = world.write('c', '3');
    world.run(5000);
    expect(unknown.reason?.code).toBe('OUTCOME_UNKNOWN');
    expect(observer.last).toEqual(['default/a=1 default/c=3*']);
    world.call({ f: 'detach' });
    expect(observer.last).toEqual(['default/a=1']);
  });

  it('no answer is applied while an own write may be part of it (LQ1)', () => {
    const { watch, world, node, other, stabilise } = scene();
    const observer = watch(ALL_KEYS);
    node.script = (frame) => (frame.type === 'commit' ? 'apply-and-drop' : undefined);
    world.call({ f: 'write', key: 'default/a', value: increment });
    world.run(50);
    other({ a: '10' });
    stabilise();
    // The snapshot has the increment below the put: laid over, it would give 11.
    expect(observer.last).toEqual(['default/a=2*']);
    node.script = () => undefined;
    world.run(5000);
    expect(observer.last).toEqual(['default/a=10']);
  });

  it('no first read is shown while an own write may be part of it (LQ1)', () => {
    const { watch, world, node, cluster } = scene();
    node.script = (frame) => (frame.type === 'commit' ? 'apply-and-drop' : undefined);
    world.call({ f: 'write', key: 'default/a', value: increment });
    world.run(50);
    cluster.stabilise();
    // The snapshot of the read has the increment: laid over, it would give 3.
    const observer = watch(ALL_KEYS);
    expect(observer.calls).toEqual([]);
    node.script = () => undefined;
    world.run(5000);
    expect(observer.last).toEqual(['default/a=2']);
  });
});

describe('on another connection', () => {
  it('the client goes on from its snapshot with all scopes, and gets the differences alone (LQ3)', () => {
    const { watch, world, nodes, node, other, stabilise, cluster } = scene(['east', 'west']);
    const observer = watch(ALL_KEYS, { keys: ['default/b'] });
    const before = cluster.ust;
    node.state = 'refuses';
    world.cut(node);
    other({ b: '2' });
    world.run(500);
    stabilise();
    const [request] = nodes[1]!.received('live');
    expect(request).toMatchObject({ after: before });
    expect(request!.add).toHaveLength(2);
    expect(nodes[1]!.received('list')).toEqual([]);
    expect(observer.calls.map(({ changed }) => changed)).toEqual([['default/a'], ['default/b', 'default/b']]);
  });

  it('the position does not go back at a node that is behind (LQ3)', () => {
    const { watch, world, node, other, stabilise } = scene(['east', 'west']);
    const observer = watch(ALL_KEYS);
    other({ a: '2' });
    stabilise('east');
    node.state = 'refuses';
    world.cut(node);
    world.run(70_000);
    expect(observer.last).toEqual(['default/a=2']);
    other({ a: '3' });
    stabilise();
    world.run(2000);
    expect(observer.calls.map(({ shown }) => shown[0])).toEqual(['default/a=1', 'default/a=2', 'default/a=3']);
  });

  it('below the log all scopes are read anew, and the observer gets the differences (LQ3)', () => {
    const { watch, world, node, other, cluster } = scene();
    const observer = watch(ALL_KEYS);
    const document = observer.documents.get('default/a');
    world.cut(node);
    other({ b: '2' });
    other({ c: '3' });
    const gone = cluster.ust;
    node.script = (frame) =>
      frame.type === 'live' && frame.after <= gone ? refusal(frame.id, 'CHANGES_GONE', false) : undefined;
    cluster.stabilise();
    world.run(1000);
    expect(observer.calls.at(-1)).toEqual({
      snapshot: cluster.ust,
      shown: ['default/a=1 default/b=2 default/c=3'],
      changed: ['default/b', 'default/c'],
    });
    expect(observer.documents.get('default/a')).toBe(document);
  });

  it('an answer below its request, or out of its range, ends the connection and changes nothing (D12)', () => {
    const { watch, world, node, other, stabilise, cluster } = scene();
    const observer = watch(ALL_KEYS);
    const to = cluster.ust + 1000;
    const damaged = [
      { to: 5, changes: [] },
      { to, changes: [['default/a', [[to + 1000, 't', '9']]]] },
      { to, changes: [['default/a', [[1, 't', '9']]]] },
      { to, changes: [['default/a', [['now', 't', '9']]]] },
      { to, changes: [['default/a', [[to - 500, 't', { operations: 7 }]]]] },
      { to, changes: 'all' },
      {},
    ];
    for (const body of damaged) {
      const sockets = world.sockets.size;
      const request = node.received('live').at(-1)!;
      node.push({ type: 'live', id: request.id, ...body } as never);
      world.run(3000);
      expect(world.sockets.size).toBeGreaterThan(sockets);
      expect(observer.calls).toHaveLength(1);
    }
    other({ a: '2' });
    stabilise();
    expect(observer.last).toEqual(['default/a=2']);
  });
});

describe('a request that waits', () => {
  it('a waiting request causes no pings beyond the heartbeat, and a dead connection is noticed by that', () => {
    const { watch, world, node } = scene();
    watch(ALL_KEYS);
    const pings = () => node.received('ping').length;
    const before = pings();
    world.run(50_000);
    expect(pings() - before).toBeLessThanOrEqual(5);
    node.script = () => 'drop';
    world.run(20_000);
    expect(world.sockets.size).toBeGreaterThan(1);
  });

  it('a node that answers everything else but owes an answer beyond its wait is left', () => {
    const { watch, world, node } = scene();
    node.script = (frame) => (frame.type === 'live' && frame.add === undefined ? 'drop' : undefined);
    watch(ALL_KEYS);
    const sockets = world.sockets.size;
    world.run(60_000);
    expect(world.sockets.size).toBe(sockets);
    world.run(5000);
    expect(world.sockets.size).toBe(sockets + 1);
    expect(node.received('live').filter(({ add }) => add !== undefined)).toHaveLength(2);
  });

  it('a changed key costs the work of its own scopes, whatever the number of documents', () => {
    const { watch, other, stabilise } = scene();
    const keys = Array.from({ length: 5000 }, (_, i) => `k${i}`);
    for (let i = 0; i < keys.length; i += 1000)
      other(Object.fromEntries(keys.slice(i, i + 1000).map((key) => [key, '0'])));
    stabilise();
    const observer = watch({ keys: keys.map((key) => `default/${key}`) });
    stabilise();
    const documents = [...observer.documents.values()];
    expect(documents).toHaveLength(5000);
    other({ k7: '1' });
    stabilise();
    expect(observer.calls.at(-1)!.changed).toEqual(['default/k7']);
    expect([...observer.documents.values()].filter((one) => !documents.includes(one))).toHaveLength(1);
  });
});
