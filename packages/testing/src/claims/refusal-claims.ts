/// <reference types="jest" />
/** The refusals of every protocol of single operations, and its behaviour when it cannot continue. */
import type { OperationMessage } from '@isochron/protocols/kernel/operations/messages';
import { createOperationNode } from '@isochron/protocols/kernel/operations/node';
import type { OperationProtocol } from '@isochron/protocols/kernel/operations/protocol';
import { joined } from '../world/lost-disks.js';
import { everywhere, NODES, refusal, settledWorld } from '../world/operation-fixtures.js';
import { keyIn, OperationClient, OperationWorld, REGIONS, replicated } from '../world/operation-world.js';
import type { WorldOptions } from '../world/world-of.js';

const HOUR = 3_600_000;

/** Registers the claims for one protocol. */
export function refusalClaims(protocol: OperationProtocol): void {
  const settled = (options: WorldOptions = {}): OperationWorld => settledWorld(protocol, options);

  describe('what is refused', () => {
    it('a placement that lacks a replica somewhere is refused', () => {
      const spec = { ...replicated(REGIONS), keyspaces: [{ name: 'default', partitions: 3, replication: 2 }] };
      expect(() => settled({ spec })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    });

    it('a session that claims the impossible is refused: other entries, another region, a future time (T1)', () => {
      const world = settled();
      const client = new OperationClient(world, 'virginia-1');
      const key = keyIn(world, 0);
      const request = client.session.get(key);
      const seen = [...request.seen, 1, 2, 3, 4, 5, 6, 7];
      expect(refusal(world, 'virginia-1', { ...request, seen })).toBe('INVALID_REQUEST');
      expect(refusal(world, 'virginia-1', { ...request, region: 'atlantis' })).toBe('INVALID_REQUEST');
      expect(refusal(world, 'virginia-1', { ...request, key: 'nowhere/1' })).toBe('KEYSPACE_UNKNOWN');
      client.session.refused();
      const put = client.session.put(key, '1');
      const sentAfter = world.node('virginia-1').parts.clock.latest(world.now, HOUR);
      expect(refusal(world, 'virginia-1', { ...put, sentAfter })).toBe('TIMESTAMP_IN_FUTURE');
      expect(refusal(world, 'virginia-1', { ...put, attemptRegions: [] })).toBe('INVALID_REQUEST');
      expect(refusal(world, 'virginia-1', { ...put, attemptRegions: ['atlantis'] })).toBe('INVALID_REQUEST');
    });

    it('a node whose disk is full refuses PUTs for good, and goes on reading (D11)', () => {
      const world = settled();
      const key = keyIn(world, 0);
      const client = new OperationClient(world, 'virginia-1');
      client.put(key, '1');
      world.refusal = 'STORAGE_FULL';
      const request = client.session.put(key, '2');
      expect(refusal(world, 'virginia-1', request)).toBe('STORAGE_FULL');
      world.refusal = undefined;
      expect(refusal(world, 'virginia-1', request)).toBe('TRANSACTION_ABORTED');
      client.session.refused();
      expect(client.get(key)).toBe('1');
    });

    it('a node whose clock is far from the median of its peers refuses PUTs (T1)', () => {
      const world = settled({ skewMs: (node) => (node === 'virginia-1' ? -HOUR : 0) });
      const client = new OperationClient(world, 'virginia-1');
      expect(refusal(world, 'virginia-1', client.session.put(keyIn(world, 0), '1'))).toBe('CLOCK_DRIFT');
    });

    it("while a region's node is away, reads are refused in time, and PUTs stay pending (D11)", () => {
      const world = settled({
        spec: replicated(REGIONS, 2),
        settings: { readDeadlineMs: 500, commitTimeoutMs: 500, readTimeoutMs: 100 },
      });
      const key = keyIn(world, 1);
      world.crash('virginia-2');
      const client = new OperationClient(world, 'virginia-1');
      expect(refusal(world, 'virginia-1', client.session.get(key))).toBe('REPLICA_UNREACHABLE');
      client.session.refused();
      const request = client.session.put(key, '1');
      expect(refusal(world, 'virginia-1', request)).toBe('OUTCOME_PENDING');
      const ref = world.ask('virginia-1', request);
      world.run(100);
      world.restart('virginia-2');
      world.until(() => world.answer('virginia-1', ref) !== undefined);
      expect(world.answer('virginia-1', ref)?.type).toBe('PutResp');
    });

    it('an invalid message changes nothing and stops no node (D12)', () => {
      const world = settled();
      const key = keyIn(world, 0);
      const client = new OperationClient(world, 'virginia-1');
      client.put(key, '1');
      const replica = { node: 'virginia-1', machine: 'replica/0' };
      const stranger = { node: 'oregon-1', machine: 'coordinator' };
      const seen = [1, 2, 3, 4, 5, 6, 7, 8, 9];
      const put = {
        txId: 'stranger-session-1.0',
        attempt: 0,
        sentAfter: 0,
        principal: '',
        key,
        value: '2',
        seen,
      } as const;
      const slices: OperationMessage[] = [
        { type: 'GetSliceReq', ref: 1, partition: 0, key, seen },
        { type: 'PutSliceReq', ref: 2, partition: 0, ...put },
        { type: 'RotSliceReq', ref: 3, partition: 0, keys: [key], snapshot: seen },
        { type: 'SnapReq', ref: 4, partition: 0, seen },
      ];
      for (const slice of slices) world.inject(replica, stranger, slice);
      const well = new Array(world.node('virginia-1').parts.coordinator.rules.entries.seen).fill(0);
      const request = {
        type: 'PutSliceReq' as const,
        ref: 5,
        partition: 0,
        ...put,
        seen: well,
        sentAfter: world.ust(),
      };
      world.inject(replica, stranger, { type: 'WaitedSlice', node: 'oregon-1', since: 0, request });
      const coordinator = { node: 'virginia-1', machine: 'coordinator' };
      for (const ref of [0, 1, world.node('virginia-1').parts.clock.last]) {
        world.inject(coordinator, stranger, { type: 'PutSliceResp', ref, ts: 1 });
        world.inject(coordinator, stranger, { type: 'Refused', ref, code: 'INTERNAL', detail: '' });
        world.inject(coordinator, stranger, { type: 'SettleResp', ref, state: 'committed', ts: 1 });
      }
      world.run(100);
      expect(client.get(key)).toBe('1');
      expect(everywhere(world, key)).toEqual(['1', '1', '1']);
      expect([...world.node('virginia-1').store.chains.values()].flat()).toHaveLength(1);
    });
  });

  describe('a node is put together', () => {
    it('a node with an empty disk waits for its peers before it serves (D10)', () => {
      const world = new OperationWorld(protocol, { empty: true });
      const client = new OperationClient(world, 'virginia-1');
      expect(refusal(world, 'virginia-1', client.session.get(keyIn(world, 0)))).toBe('NOT_READY');
      world.until(() => NODES.every((node) => joined(world, node)()));
      client.session.refused();
      expect(client.get(keyIn(world, 0))).toBeNull();
    });

    it('a node has the parts that a driver needs, whatever the family', () => {
      const world = settled();
      const { store } = world.node('virginia-1');
      const node = createOperationNode(
        {
          node: 'virginia-1',
          topology: world.topology,
          settings: world.settings,
          reader: store,
          recovered: store.recover(),
          now: world.now,
        },
        protocol,
      );
      const names = node.machines.map(([machine]) => machine);
      expect(names).toEqual([
        ...node.replicas.map(({ partition }) => `replica/${partition}`),
        'coordinator',
        'stabilization',
        'rounds',
        'rebuild',
        'losses',
      ]);
    });
  });
}
