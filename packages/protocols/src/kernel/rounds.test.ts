/** Claims about the rounds of a node (PaRiS, SPEC.md deviation 11). */
import { HLC_TICKS_PER_MS, type NodeId, packWall } from '@isochron/core';
import { sample } from '@isochron/testing/samples';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { World } from '@isochron/testing/world/world';
import { Activity } from './activity.js';
import { HeartbeatCollector, heartbeatsIn } from './heartbeats.js';
import type { ReplicationMessage } from './replication/messages.js';

const IDLE_MS = 10_000;

/** A cluster in which nothing was written for a while. */
function idleWorld(options: ConstructorParameters<typeof World>[0] = {}): World {
  const world = new World(options);
  world.run(IDLE_MS);
  return world;
}

/** How many frames a node sends to another one in a time. */
function framesIn(world: World, ms: number, from: NodeId, to: NodeId): number {
  const before = world.frames.length;
  world.run(ms);
  const isOurs = (frame: World['frames'][number]) => frame.some((e) => e.from.node === from && e.to.node === to);
  return world.frames.slice(before).filter(isOurs).length;
}

describe('rounds of a node', () => {
  it('an idle node takes rounds less and less often, up to idleBackoff times the interval', () => {
    const activity = new Activity('virginia-1', 0, 16);
    const gaps = [0, 999, 1_000, 2_000, 3_000, 4_000, 60_000].map((now) => activity.nextRound(now, 10) - now);
    expect(gaps).toEqual([10, 1, 20, 40, 40, 160, 160]);
  });

  it('a node sends one frame a round to each peer, however many partitions they share', () => {
    const regions = ['virginia', 'oregon', 'ireland'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] }));
    const frames = [6, 60].map((partitions) => {
      const spec = { regions, keyspaces: [{ name: 'default', partitions, replication: 2 }] };
      return framesIn(idleWorld({ spec }), 1_600, 'virginia-1', 'oregon-1');
    });
    expect(frames[0]).toBeLessThanOrEqual(12);
    expect(frames[1]).toBe(frames[0]);
  });

  it('a write after a long idle time brings the rounds of all nodes back at once', () => {
    const world = idleWorld();
    const { ct } = new TestClient(world, 'virginia-1').write({ [keyIn(world, 0)]: '1' });
    const since = world.now;
    world.until(() => world.ust() >= ct);
    expect(world.now - since).toBeLessThanOrEqual(4 * world.settings.applyIntervalMs);
  });

  it('nodes that host no written partition keep up with the stable time as long as writes go on', () => {
    const world = idleWorld();
    const writer = new TestClient(world, 'virginia-1');
    for (let i = 0; i < 60; i++) {
      writer.write({ [keyIn(world, 0)]: String(i) });
      world.run(100);
      if (i > 0) expect(packWall(world.now) - world.ust()).toBeLessThan(50 * HLC_TICKS_PER_MS);
    }
  });

  it('rounds of all nodes go on at their interval when the message that wakes them is lost, as soon as the write arrives', () => {
    const world = idleWorld();
    world.filter = ({ message }) => message.type !== 'Wake';
    const { ct } = new TestClient(world, 'virginia-1').write({ [keyIn(world, 0)]: '1' });
    const { applyIntervalMs, idleBackoff } = world.settings;
    const since = world.now;
    world.until(() => world.ust() >= ct);
    expect(world.now - since).toBeLessThanOrEqual(3 * applyIntervalMs * idleBackoff);
  });

  it('a wake from a node that is not of the cluster changes nothing (D12)', () => {
    const world = idleWorld();
    const wakes = () => JSON.stringify(world.node('oregon-1').host.describe());
    const before = /"wakes":\d+/.exec(wakes());
    world.inject({ node: 'oregon-1', machine: 'rounds' }, { node: 'stranger', machine: 'rounds' }, { type: 'Wake' });
    expect(/"wakes":\d+/.exec(wakes())).toEqual(before);
  });

  it('heartbeats of partitions that are not here are ignored (D12)', () => {
    const world = idleWorld();
    const vectors = () => world.node('oregon-1').parts.replicas.map(({ replication }) => replication.vv.entries());
    const before = vectors();
    world.inject(
      { node: 'oregon-1', machine: 'rounds' },
      { node: 'virginia-1', machine: 'rounds' },
      { type: 'Heartbeats', source: 'virginia', spans: [{ from: 0, to: 9, verified: true, partitions: [2, 77] }] },
    );
    expect(vectors()).toEqual(before);
  });
});

describe('heartbeats of a round', () => {
  const heartbeat = (partition: number, to: number, verified = true) =>
    sample('Heartbeat', { partition, source: 'virginia', from: 1, to, verified });

  it('partitions with the same range share an entry, and each gets its own heartbeat back', () => {
    const collector = new HeartbeatCollector('virginia');
    const all = [heartbeat(0, 5), heartbeat(1, 5), heartbeat(2, 7), heartbeat(3, 5), heartbeat(4, 5, false)];
    for (const one of all) collector.add('oregon-1', one);
    const sent: ReplicationMessage[] = [];
    collector.flush({ send: (_to, message) => sent.push(message) });
    collector.flush({ send: (_to, message) => sent.push(message) });
    expect(sent).toHaveLength(1);
    const [message] = sent;
    if (message?.type !== 'Heartbeats') throw new Error('no heartbeats');
    expect(message.spans).toHaveLength(3);
    const back = heartbeatsIn(message).sort((a, b) => a.partition - b.partition);
    expect(back).toEqual(all);
  });
});
