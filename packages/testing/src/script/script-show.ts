/**
 * The state that a script can show. Nothing here changes anything or sends requests: it reads the machines and the
 * disks.
 */
import {
  MAX_TIMESTAMP,
  type NodeId,
  type PartitionId,
  type QualifiedKey,
  type StoredVersion,
  type Timestamp,
  type TxId,
} from '@isochron/core';
import type { TransactionMessage } from '@isochron/protocols/kernel/transactions/messages';
import type { Replica } from '@isochron/protocols/kernel/transactions/replica';
import type { Envelope } from '@isochron/protocols/machine';
import { blockingOf } from '../world/blocking.js';
import { matches } from './script-network.js';
import { patternOf } from './script-scene.js';
import type { Stage } from './script-stage.js';
import { ScriptError, type Words, wordOfValue } from './script-words.js';

type Show = (stage: Stage, words: Words) => string[];

export const SHOW: Readonly<Record<string, Show>> = {
  /**
   * StoredVersion vector, prepared and committed transactions of a replica in memory, and the floor of its garbage
   * collection.
   */
  replica: (stage, words) => {
    const { cohort, replication } = replicaOf(stage, words);
    const { vv, gcFloor } = replication;
    const vector = (entries: Record<string, Timestamp>) =>
      Object.entries(entries).map(([region, ts]) => `${region} ${stage.time(ts)}`);
    const [applied, durable] = [vector(vv.entries()).join(', '), vector(vv.durableEntries()).join(', ')];
    const committed = [...stage.transactions.values()].flatMap(({ tx }) => cohort.slices.committed.get(tx.id) ?? []);
    return [
      `vector: ${applied}`,
      ...(durable === applied ? [] : [`on disk: ${durable}`]),
      ...[...cohort.slices.prepared.values()].map(
        ({ txId, record }) => `prepared: ${stage.txName(txId)} at ${stage.time(record.pt)}`,
      ),
      ...committed.map(({ txId, ct }) => `committed: ${stage.txName(txId)} at ${stage.time(ct)}`),
      ...(gcFloor > 0 ? [`collected below: ${stage.time(gcFloor)}`] : []),
    ];
  },

  /** Undecided prepares on all disks, also of nodes that are down. */
  prepared: (stage) =>
    orNone(
      [...stage.world.nodes.values()].flatMap(({ id, store }) =>
        store.undecided().map(({ partition, txId, record }) => {
          const list = `attempt ${record.attempt}, home ${record.home}, cohorts ${record.cohorts.join(',')}`;
          return `${id} partition ${partition}: ${stage.txName(txId)} at ${stage.time(record.pt)}, ${list}`;
        }),
      ),
    ),

  /** The outcome of a transaction on the disks, also if it is not applied yet. */
  outcomes: (stage, words) => {
    const { tx } = stage.transaction(words.next('a transaction'));
    return orNone(
      [...stage.world.nodes.values()].flatMap(({ id, store }) =>
        stage.world.topology.partitionsOn(id).flatMap((partition) => {
          const outcome = store.end(partition, tx.id);
          if (outcome === undefined) return [];
          const at = outcome.status === 'committed' ? ` at ${stage.time(outcome.ts)}` : '';
          return [`${id} partition ${partition}: ${outcome.status}${at}, attempt ${outcome.attempt}`];
        }),
      ),
    );
  },

  /** All versions of a key on each disk that has its partition, the newest first. */
  versions: (stage, words) => {
    const key = stage.key(words.next('a key'));
    const partition = stage.world.topology.partitionOf(key);
    return stage.world.topology.partitions[partition]!.regions.map((region) => {
      const id = stage.world.topology.replicaNode(partition, region)!;
      return `${id}: ${chainOf(stage, id, partition, key)}`;
    });
  },

  /** Own committed transactions of a replica that UST has not passed: a reconnect replays them. */
  log: (stage, words) => {
    const node = stage.node(words.next('a node'));
    const partition = stage.partition(words.next('a partition'));
    const { groups } = stage.world.node(node).store.log(partition, 0, MAX_TIMESTAMP);
    return orNone(groups.flatMap(({ ct, txs }) => txs.map(({ txId }) => `${stage.txName(txId)} at ${stage.time(ct)}`)));
  },

  /** The stable time of every running node; with a transaction, whether that one is stable there. */
  stable: (stage, words) => {
    const ct = words.atEnd ? undefined : knownCt(stage, words);
    return [...stage.world.nodes.values()]
      .filter(({ up }) => up)
      .map(({ id, parts }) => {
        const { value } = parts.stable;
        return `${id}: ${ct === undefined ? stage.time(value) : value >= ct ? 'stable' : 'not stable'}`;
      });
  },

  /** The versions that every running node has confirmed as installed in its region. */
  regional: (stage) =>
    [...stage.world.nodes.values()]
      .filter(({ up }) => up)
      .map(({ id, parts }) => {
        const { entries } = parts.coordinator.state.regional;
        return `${id}: ${entries.length === 0 ? 'none' : entries.map((ts) => stage.time(ts)).join(', ')}`;
      }),

  /** The number and duration of waiting reads on a node since its start; nothing for nodes without any. */
  blocking: (stage) =>
    orNone(
      [...stage.world.nodes.values()].flatMap(({ id, parts }) => {
        const { reads, ms } = blockingOf(parts);
        return reads === 0 ? [] : [`${id}: waits ${reads}, in all ${ms} ms`];
      }),
    ),

  /** A session's state for export. */
  session: (stage, words) => {
    const { ust, deps, hwt, cache } = stage.session(words.next('a session')).session.export();
    const writes = cache.map(
      ([key, { value, ct }]) => `${stage.keyName(key)}=${wordOfValue(value)} at ${stage.time(ct)}`,
    );
    return [
      `ust ${stage.snapshot({ ts: ust, deps })}, hwt ${stage.time(hwt)}`,
      `cache: ${writes.length > 0 ? writes.join(', ') : 'nothing'}`,
    ];
  },

  /** Messages that have arrived at other nodes since the last look. */
  sent: (stage, words) => {
    const pattern = patternOf(stage, words);
    const fresh = stage.world.sent.slice(stage.shownMessages);
    stage.shownMessages = stage.world.sent.length;
    return orNone(fresh.filter((envelope) => matches(pattern, envelope)).map((e) => messageLine(stage, e)));
  },
};

/** A message with the fields that matter. */
export function messageLine(stage: Stage, { from, to, message }: Envelope<TransactionMessage>): string {
  const txId = 'identity' in message ? message.identity.txId : 'txId' in message ? message.txId : null;
  const parts: string[] = [];
  if ('partition' in message) parts.push(`partition ${message.partition}`);
  if (txId !== null) parts.push(stage.txName(txId));
  if (message.type === 'PrepareResp') parts.push(`at ${stage.time(message.pt)}`);
  if (message.type === 'CommitTx') parts.push(`at ${stage.time(message.ct)}`);
  if (message.type === 'ResolveResp')
    parts.push(message.state, ...(message.ts > 0 ? [`at ${stage.time(message.ts)}`] : []));
  if ('code' in message) parts.push(message.code);
  if (message.type === 'Replicate' || message.type === 'Heartbeat') {
    parts.push(`(${stage.time(message.from)}, ${stage.time(message.to)}]`);
  }
  if (message.type === 'ResyncReq') parts.push(`after ${stage.time(message.from)}`);
  if (message.type === 'Replicate')
    parts.push(...message.groups.flatMap(({ txs }) => txs.map((tx) => stage.txName(tx.txId))));
  if ('gst' in message) parts.push(`gst ${stage.time(message.gst)}`);
  return `${from.node} -> ${to.node} ${message.type} ${parts.join(' ')}`.trimEnd();
}

function replicaOf(stage: Stage, words: Words): Replica {
  const node = stage.running(words.next('a node'));
  const partition = stage.partition(words.next('a partition'));
  const replica = stage.world.node(node).parts.replicas.find((candidate) => candidate.partition === partition);
  if (replica === undefined) throw new ScriptError(`${node} has no replica of partition ${partition}`);
  return replica;
}

function chainOf(stage: Stage, node: NodeId, partition: PartitionId, key: QualifiedKey): string {
  const chain = stage.world.node(node).store.chains.get(`${partition}|${key}`) ?? [];
  const word = ({ value, txId, ts }: StoredVersion) =>
    `${wordOfValue(value)} of ${nameOf(stage, txId)} at ${stage.time(ts)}`;
  return chain.length === 0 ? 'no version' : chain.map(word).join(', ');
}

const nameOf = (stage: Stage, txId: TxId): string => stage.txName(txId);

function knownCt(stage: Stage, words: Words): Timestamp {
  const named = stage.transaction(words.next('a transaction'));
  const ct = stage.ctOf(named);
  if (ct === undefined) throw new ScriptError(`the commit timestamp of ${named.name} is not known yet`);
  return ct;
}

const orNone = (lines: string[]): string[] => (lines.length === 0 ? ['none'] : lines);
