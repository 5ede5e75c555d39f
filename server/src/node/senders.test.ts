import { Topology } from '@isochron/core';
import { testConfig } from '../../testing/test-cluster.js';
import { clusterSpec } from '../config/cluster-file.js';
import { foreignSource } from './senders.js';

const topology = Topology.of(clusterSpec(testConfig()));
const from = { node: 'oregon-1', machine: 'x' };
const to = { node: 'virginia-1', machine: 'x' };
const reasonFor = (message: { readonly type: string }) => foreignSource(topology, 'oregon-1', [{ from, to, message }]);

const held = topology.partitions.findIndex(({ id }) => topology.replicaNode(id, 'oregon') === 'oregon-1');
const other = topology.partitions.findIndex(({ id }) => topology.replicaNode(id, 'oregon') !== 'oregon-1');

it.each(['Replicate', 'Heartbeat', 'ResyncRefused'])(
  'a %s of a region is accepted from a node of that region only',
  (type) => {
    expect(reasonFor({ type, partition: held, source: 'oregon' } as { type: string })).toBeUndefined();
    expect(reasonFor({ type, partition: held, source: 'virginia' } as { type: string })).toContain(
      'oregon-1, which is in oregon',
    );
  },
);

it('a resync request names the region of the node that sends it', () => {
  expect(reasonFor({ type: 'ResyncReq', partition: held, region: 'oregon' } as { type: string })).toBeUndefined();
  expect(reasonFor({ type: 'ResyncReq', partition: held, region: 'virginia' } as { type: string })).toBeDefined();
});

it('messages that name no region of their sender are free to name any', () => {
  expect(reasonFor({ type: 'CopyReq', source: 'virginia' } as { type: string })).toBeUndefined();
});

it('messages of replicas come from the node that holds them', () => {
  const answers = ['ReadSliceResp', 'ListSliceResp', 'PrepareResp', 'PrepareRefused', 'ResolveResp', 'OutcomeResp'];
  for (const type of answers) {
    expect([type, reasonFor({ type, partition: held } as { type: string })]).toEqual([type, undefined]);
    for (const partition of [other, 10_000, undefined])
      expect(reasonFor({ type, partition } as { type: string })).toContain('oregon-1 holds no replica');
  }
});

it('a stream comes from the node that holds the replica, not from another node of the region', () => {
  for (const type of ['Replicate', 'Heartbeat', 'ResyncRefused'])
    expect(reasonFor({ type, source: 'oregon', partition: other } as { type: string })).toContain('holds no replica');
  const heartbeats = (partitions: number[]) =>
    ({ type: 'Heartbeats', source: 'oregon', spans: [{ from: 0, to: 1, verified: true, partitions }] }) as object;
  expect(reasonFor(heartbeats([held]) as { type: string })).toBeUndefined();
  expect(reasonFor(heartbeats([held, other]) as { type: string })).toContain('holds no replica');
});

it('the stable time of a region comes from that region', () => {
  expect(reasonFor({ type: 'GossipRoot', region: 'oregon' } as { type: string })).toBeUndefined();
  expect(reasonFor({ type: 'GossipRoot', region: 'virginia' } as { type: string })).toBeDefined();
});
