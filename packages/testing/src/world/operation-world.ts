/** The world of claim tests about single operations, and clients that follow their session. */
import type { ClusterSpec, NodeId, Timestamp, Value, Version } from '@isochron/core';
import type {
  OperationMessage,
  OperationRequest,
  OperationResponse,
  PutReq,
  PutResp,
} from '@isochron/protocols/kernel/operations/messages';
import { createOperationNode, type OperationNode } from '@isochron/protocols/kernel/operations/node';
import type { OperationProtocol } from '@isochron/protocols/kernel/operations/protocol';
import { OperationSession } from '@isochron/protocols/kernel/operations/session';
import { keyIn } from './clients.js';
import { WorldOf, type WorldOptions } from './world-of.js';

/** Regions with some nodes each and six partitions, each of them in every region. */
export const replicated = (regions: readonly string[], nodes = 1, partitions = 6): ClusterSpec => ({
  regions: regions.map((id) => ({ id, nodes: Array.from({ length: nodes }, (_, i) => ({ id: `${id}-${i + 1}` })) })),
  keyspaces: [{ name: 'default', partitions, replication: regions.length }],
});

export const REGIONS = ['virginia', 'oregon', 'ireland'] as const;

export { keyIn };

export class OperationWorld extends WorldOf<OperationMessage, OperationRequest, OperationResponse, OperationNode> {
  constructor(
    readonly protocol: OperationProtocol,
    options: WorldOptions = {},
  ) {
    super({ spec: replicated(REGIONS), ...options }, (common) => createOperationNode(common, protocol));
  }

  /** How many messages of a type have crossed a link. */
  crossed(type: OperationMessage['type']): number {
    return this.sent.filter(({ message }) => message.type === type).length;
  }

  /** Counters of a node's replicas, added up. */
  counted(node: NodeId, name: string): number {
    const { replicas, coordinator } = this.node(node).parts;
    return [...replicas, coordinator]
      .map((machine) => (machine.describe() as { counters: Record<string, number> }).counters[name] ?? 0)
      .reduce((sum, n) => sum + n, 0);
  }
}

let sessions = 0;

/** A client that runs one operation at a time against any node. */
export class OperationClient {
  readonly session: OperationSession;

  constructor(
    readonly world: OperationWorld,
    public node: NodeId,
    session?: OperationSession,
  ) {
    const id = `test-session-${String(sessions++).padStart(6, '0')}`;
    this.session = session ?? new OperationSession(id, world.topology.regionOf(node), world.protocol.session);
    this.session.observe(world.node(node).parts.stable.value);
  }

  move(node: NodeId): void {
    this.node = node;
    this.session.move(this.world.topology.regionOf(node));
  }

  getVersion(key: string): Version | null {
    const answer = this.world.call(this.node, this.session.get(key), 'GetResp');
    this.session.answered(answer);
    return answer.version;
  }

  get(key: string): Value | null {
    return this.getVersion(key)?.value ?? null;
  }

  /** Where there are no read-only transactions: one key after the other. */
  rot(...keys: string[]): (Value | null)[] {
    if (this.world.protocol.rots === false) return keys.map((key) => this.get(key));
    const answer = this.world.call(this.node, this.session.rot(keys), 'RotResp');
    this.session.answered(answer);
    return answer.versions.map((version) => version?.value ?? null);
  }

  /** Writes, and returns the timestamp. */
  put(key: string, value: Value | null): Timestamp {
    return this.send(this.session.put(key, value)).ts;
  }

  /** Sends a PUT and takes its answer. */
  send(request: Omit<PutReq, 'ref'>): PutResp {
    const answer = this.world.call(this.node, request, 'PutResp');
    this.session.answered(answer);
    return answer;
  }
}

/** Waits of all nodes in the whole world, by the names of the counters. */
export function blockedIn(world: OperationWorld): { reads: number; puts: number; rots: number; ms: number } {
  const total = (name: string) => world.topology.nodes.reduce((sum, node) => sum + world.counted(node, name), 0);
  return {
    reads: total('blockedReads'),
    puts: total('blockedPuts'),
    rots: total('blockedRots'),
    ms: total('blockedMs') + total('blockedPutMs'),
  };
}

/** Messages of an operation that crossed links since `from`, in order. */
export const operationMessages = (world: OperationWorld, from = 0): string[] =>
  world.sent
    .slice(from)
    .map(({ message }) => message.type)
    .filter((type) => /^(Get|Put|Rot|Snap|Settle)/.test(type));

/** Clients of every node read and write for a while, each staying at its node; returns the number of operations. */
export function busyWhile(world: OperationWorld, rounds: number): number {
  const partitions = world.topology.partitions.length;
  const keys = Array.from({ length: partitions }, (_, partition) => keyIn(world, partition));
  const clients = world.topology.nodes.map((node) => new OperationClient(world, node));
  for (let round = 0; round < rounds; round++) {
    clients.forEach((client, i) => {
      const key = keys[(round + i) % partitions]!;
      client.put(key, `${round}`);
      client.get(key);
      client.rot(key, keys[(round + i + 1) % partitions]!);
    });
    world.run(3);
  }
  return rounds * clients.length * 3;
}
