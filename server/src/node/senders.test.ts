import { Topology } from '@isochron/core';
import { clusterSpec } from '../config/cluster-file.js';
import { fakeConfig } from '../testing/fake-node.js';
import { foreignSource } from './senders.js';

const topology = new Topology(clusterSpec(fakeConfig()));
const from = { node: 'oregon-1', machine: 'x' };
const to = { node: 'virginia-1', machine: 'x' };
const reasonFor = (message: { readonly type: string }) => foreignSource(topology, 'oregon-1', [{ from, to, message }]);

it.each(['Replicate', 'Heartbeat', 'ResyncRefused'])(
  'a %s of a region is accepted from a node of that region only',
  (type) => {
    expect(reasonFor({ type, source: 'oregon' } as { type: string })).toBeUndefined();
    expect(reasonFor({ type, source: 'virginia' } as { type: string })).toContain('oregon-1, which is in oregon');
  },
);

it('a resync request names the region of the node that sends it', () => {
  expect(reasonFor({ type: 'ResyncReq', region: 'oregon' } as { type: string })).toBeUndefined();
  expect(reasonFor({ type: 'ResyncReq', region: 'virginia' } as { type: string })).toBeDefined();
});

it('messages that name no region of their sender are free to name any', () => {
  expect(reasonFor({ type: 'CopyReq', source: 'virginia' } as { type: string })).toBeUndefined();
});

it('answers of replicas come from the node that holds them', () => {
  const held = topology.partitions.findIndex(({ id }) => topology.replicaNode(id, 'oregon') === 'oregon-1');
  const other = topology.partitions.findIndex(({ id }) => topology.replicaNode(id, 'oregon') !== 'oregon-1');
  for (const type of ['ReadSliceResp', 'ListSliceResp', 'PrepareResp', 'PrepareRefused', 'ResolveResp']) {
    expect([type, reasonFor({ type, partition: held } as { type: string })]).toEqual([type, undefined]);
    for (const partition of [other, 10_000, undefined])
      expect(reasonFor({ type, partition } as { type: string })).toContain('oregon-1 holds no replica');
  }
});
