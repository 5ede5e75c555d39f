import type { AnyMessage, LogGroup } from '@isochron/core';
import { operationSchema, transactionSchema } from '@isochron/protocols';
import { sessionSchema } from '@isochron/sessions';
import { sample } from '@isochron/testing/samples';
import type { PackedFrame } from '@isochron/transport';
import { FrameCodec } from '@isochron/wire';
import { KIND_OF, SCOPES, TRAFFIC_KINDS, Traffic } from './traffic.js';

type Counted = Parameters<Traffic['count']>[1];
type Message = Counted['envelopes'][number]['message'];

const codec = new FrameCodec(transactionSchema);

/** The messages as a frame to a node. */
function frameOf(...messages: Message[]): Counted {
  const envelopes = messages.map((message) => ({
    to: { node: 'there', machine: 'replica/1' },
    from: { node: 'here', machine: 'replica/1' },
    message,
  }));
  const sizes: number[] = [];
  const named = envelopes.map(({ message }) => ({ to: 'replica/1', from: 'replica/1', message: message as never }));
  const bytes = codec.encode({ hlc: TS, envelopes: named }, sizes);
  return { bytes, envelopes, sizes } satisfies PackedFrame<AnyMessage> as Counted;
}

const TS = 2 ** 50;
const traffic = () => new Traffic('virginia', (node) => (node === 'virginia-2' ? 'virginia' : 'oregon'));
const replicate = (...groups: LogGroup[]): Message => sample('Replicate', { partition: 1, from: TS, to: TS, groups });
const heartbeat: Message = sample('Heartbeat', { partition: 1, from: TS, to: TS });
const gossip: Message = { type: 'GossipDown', ust: TS, sOld: TS, wallMs: TS };
const read: Message = { type: 'ReadSliceReq', ref: 1, partition: 1, snapshot: TS, keys: ['default/a'] };

describe('what nodes send', () => {
  it('traffic has a kind for every message type, and for no other', () => {
    const types = [transactionSchema, operationSchema, sessionSchema].flatMap((schema) => Object.keys(schema));
    expect(Object.keys(KIND_OF).sort()).toEqual([...new Set(types)].sort());
    const used: ReadonlySet<string> = new Set([...Object.values(KIND_OF), 'framing']);
    expect([...used].sort()).toEqual([...TRAFFIC_KINDS].sort());
  });

  it('traffic is counted by kind, in the region and between regions; all bytes of a frame are of one kind', () => {
    const counted = traffic();
    const [near, far] = [frameOf(gossip, read), frameOf(heartbeat, gossip, heartbeat)];
    counted.count('virginia-2', near);
    counted.count('oregon-1', far);
    expect(counted.of('stabilization', 'region')).toEqual({ messages: 1, bytes: near.sizes[0] });
    expect(counted.of('operations', 'region')).toEqual({ messages: 1, bytes: near.sizes[1] });
    expect(counted.of('replication', 'wan')).toEqual({ messages: 2, bytes: far.sizes[0]! + far.sizes[2]! });
    expect(counted.of('stabilization', 'wan')).toEqual({ messages: 1, bytes: far.sizes[1] });
    expect(counted.of('replication', 'region')).toEqual({ messages: 0, bytes: 0 });
    expect(counted.of('framing', 'wan').messages).toBe(1);
    for (const [scope, { bytes }] of [['region', near] as const, ['wan', far] as const]) {
      const all = TRAFFIC_KINDS.reduce((sum, kind) => sum + counted.of(kind, scope).bytes, 0);
      expect([scope, all]).toEqual([scope, bytes.length]);
    }
    expect(SCOPES).toEqual(['region', 'wan']);
  });
});

describe('metadata of updates', () => {
  const metadataOf = (group: LogGroup): number => {
    const counted = traffic();
    counted.count('oregon-1', frameOf(replicate(group)));
    return counted.metadataBytes;
  };
  const write = { key: 'default/a-long-key', value: '"a value"' };

  it('the metadata of an update is the timestamp, counted once for all that commits with it', () => {
    expect(metadataOf({ ct: TS, txs: [{ txId: 'some.1', writes: [write] }] })).toBe(9);
    expect(metadataOf({ ct: TS, txs: [{ txId: 'some.1', writes: [write, write, write] }] })).toBe(9);
  });

  it('the metadata of an update does not include fields that its sender has and does not send', () => {
    const tx = { txId: 'some.1', writes: [write], pt: TS, principal: 'some' };
    expect(metadataOf({ ct: TS, txs: [tx] })).toBe(9);
  });

  it('the metadata of an update includes the dependencies that the protocol sends', () => {
    const deps = [TS, TS + 1, TS + 2];
    expect(metadataOf({ ct: TS, txs: [{ txId: 'some.1', writes: [write], deps }] })).toBe(9 + 1 + 3 * 9);
  });

  it('the metadata of updates is counted with their number, so that both give the metadata of one', () => {
    const counted = traffic();
    counted.count(
      'oregon-1',
      frameOf(replicate({ ct: TS, txs: [{ txId: 'a.1', writes: [write, write] }] }), heartbeat),
    );
    counted.count('oregon-1', frameOf(replicate({ ct: TS + 1, txs: [{ txId: 'a.2', writes: [write] }] })));
    expect([counted.replicatedUpdates, counted.metadataBytes]).toEqual([3, 18]);
  });
});
