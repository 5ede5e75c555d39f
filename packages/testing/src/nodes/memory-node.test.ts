import type { ClientFrame, ServerFrame } from '@isochron/wire/session-frames';
import { MemoryCluster } from './memory-cluster.js';
import { MemoryNode, type Reaction } from './memory-node.js';

const TX = 'session-of-the-test-01.1';

/** A node of a cluster whose stable time is held, and a client that it has welcomed. */
function greeted() {
  const node = new MemoryNode('east', new MemoryCluster({ held: true }));
  const frames: ServerFrame[] = [];
  let isOpen = true;
  const closed = (): void => {
    isOpen = false;
  };
  const socket = node.connect({ deliver: (delivered) => frames.push(...delivered), closed });
  socket.receive([{ type: 'hello' }]);
  const { ust } = node.cluster;
  const commit = (id: number): ClientFrame => ({
    type: 'commit',
    id,
    tx: TX,
    snapshot: ust,
    hwt: 0,
    sentAfter: ust,
    attemptRegions: ['east'],
    writes: [{ key: 'default/a', value: '1' }],
  });
  const react = (reaction: Reaction): void => {
    node.script = () => reaction;
    socket.receive([commit(1)]);
    node.script = () => undefined;
  };
  const types = (): string[] => frames.map(({ type }) => type);
  return { node, cluster: node.cluster, socket, frames, types, commit, react, isOpen: () => isOpen };
}

describe('a node in memory', () => {
  it('a node in memory answers at once, and shows a write to others when stable time has it', () => {
    const { cluster, socket, frames } = greeted();
    const { ust } = cluster;
    const ts = cluster.write({ 'default/a': '1' });
    cluster.pass(5_000);
    socket.receive([{ type: 'read', id: 1, keys: ['default/a'] }]);
    expect([frames.at(-1), cluster.ust]).toMatchObject([{ type: 'values', snapshot: ust, values: [null] }, ust]);
    expect(cluster.stabilise()).toBeGreaterThanOrEqual(ts);
    socket.receive([{ type: 'read', id: 2, keys: ['default/a'] }]);
    expect(frames.at(-1)).toMatchObject({ type: 'values', values: [[ts, '1']] });
  });

  it('stable time rises by itself unless it is held', () => {
    const { cluster } = greeted();
    const ts = cluster.write({ 'default/a': '1' });
    cluster.release();
    cluster.pass(5_000);
    expect(cluster.ust).toBeGreaterThan(ts);
  });

  it.each<[Reaction, string[], boolean, number]>([
    [undefined, ['welcome', 'committed'], true, 1],
    ['drop', ['welcome'], true, 0],
    ['close', ['welcome'], false, 0],
    ['apply-and-drop', ['welcome'], true, 1],
    ['apply-and-close', ['welcome'], false, 1],
    ['hold', ['welcome'], true, 1],
    [{ type: 'pong', id: 1 }, ['welcome', 'pong'], true, 0],
  ])('a script decides what a node does with a frame: %j', (reaction, types, isOpen, effects) => {
    const scene = greeted();
    scene.react(reaction);
    expect([scene.types(), scene.isOpen(), scene.cluster.outcomes.size]).toEqual([types, isOpen, effects]);
  });

  it('a dropped write is undecided until it comes again, and a held answer leaves later', () => {
    const { node, socket, types, commit, react, cluster } = greeted();
    react('drop');
    cluster.pass(1_000);
    expect(cluster.outcomes.size).toBe(0);
    node.script = () => 'hold';
    socket.receive([commit(2)]);
    expect([cluster.outcomes.size, types()]).toEqual([1, ['welcome']]);
    node.letGo();
    expect(types()).toEqual(['welcome', 'committed']);
  });

  it('a wait until a write is stable everywhere ends when the regions know that, and its commit is one version', () => {
    const { cluster, socket, frames, react } = greeted();
    react(undefined);
    const ts = cluster.clock;
    socket.receive([{ type: 'stable', id: 2, ts, timeoutMs: 30_000 }]);
    cluster.stabilise();
    expect(frames.filter(({ type }) => type === 'stable')).toEqual([]);
    cluster.stabiliseEverywhere();
    expect(frames.filter(({ type }) => type === 'stable')).toMatchObject([{ id: 2 }]);
    expect(cluster.versionsOf('default/a')).toMatchObject([{ ts, value: '1' }]);
    expect(() => cluster.committed(TX, ts + 1)).toThrow(TX);
  });

  it('a frame that leaves may be replaced', () => {
    const { node, frames, react } = greeted();
    node.sends = (frame) => (frame.type === 'committed' ? { ...frame, ts: 7 } : frame);
    react(undefined);
    expect(frames.at(-1)).toMatchObject({ type: 'committed', ts: 7 });
  });
});
