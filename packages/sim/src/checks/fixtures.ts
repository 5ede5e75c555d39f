/** The shared part of the tests of checks: a small cluster, and events of its disks and machines. */
import { type DurableFact, type KeyWrite, type Timestamp, Topology, type TxId } from '@isochron/core';
import { VirtualTime } from '@isochron/simulated-world/virtual-time';
import type { MemoryState } from '@isochron/storage';
import type { ReaderPlan } from '../plan/plan.js';
import type { CheckContext } from './check.js';
import { Ledger } from './evidence/ledger.js';
import type { ClientView } from './evidence/observations.js';
import { UP_TO_A_TIMESTAMP } from './evidence/visibility.js';

/** Two regions of one node; every partition is in both. */
export const TOPOLOGY = Topology.of({
  regions: ['p', 'q'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
  keyspaces: [{ name: 'default', partitions: 2, replication: 2 }],
});

const keyIn = (partition: number): string => {
  for (let i = 0; ; i++) if (TOPOLOGY.partitionOf(`default/k${i}`) === partition) return `default/k${i}`;
};
export const A = keyIn(0);
export const B = keyIn(1);

/** The context of a check, which collects failures. */
export class CheckBench {
  readonly failed: string[] = [];
  readonly context: CheckContext = {
    topology: TOPOLOGY,
    time: new VirtualTime(),
    fail: (check, message) => this.failed.push(`${check}: ${message}`),
  };
  readonly ledger = new Ledger(this.context, UP_TO_A_TIMESTAMP);

  /** The transaction is prepared durably on all its partitions by the cohorts of region p. */
  commit(txId: TxId, ct: Timestamp, writes: readonly KeyWrite[], attempt = 0): void {
    for (const record of prepares(txId, ct, writes, attempt)) this.ledger.durable('p-1', [record]);
  }

  /** A PUT of `A` on the disk of its region: version, log and outcome in one batch. A late PUT has a time (F9). */
  put(txId: TxId, ts: Timestamp, value: KeyWrite['value'], at?: Timestamp): void {
    const write = { key: A, value };
    const log = { kind: 'log' as const, partition: 0, ct: ts, tx: { txId, writes: [write], at } };
    this.ledger.durable('p-1', [version(txId, ts, write, at), log, outcome(0, txId, 'committed', ts)]);
  }

  /** Its versions are durable on a node. */
  apply(node: string, txId: TxId, ct: Timestamp, writes: readonly KeyWrite[]): void {
    this.ledger.durable(
      node,
      writes.map((write) => version(txId, ct, write)),
    );
  }
}

export function prepares(txId: TxId, pt: Timestamp, writes: readonly KeyWrite[], attempt = 0): DurableFact[] {
  const cohorts = [...new Set(writes.map(({ key }) => TOPOLOGY.partitionOf(key)))].sort();
  return cohorts.map((partition) => ({
    kind: 'prepared',
    partition,
    txId,
    record: {
      pt,
      home: 'p',
      attempt,
      sentAfter: 0,
      map: 0,
      cohorts,
      digest: '',
      coordinator: 'p-1',
      writes: writes.filter(({ key }) => TOPOLOGY.partitionOf(key) === partition),
    },
  }));
}

export const version = (txId: TxId, ts: Timestamp, { key, value }: KeyWrite, at?: Timestamp): DurableFact => ({
  kind: 'version',
  partition: TOPOLOGY.partitionOf(key),
  key,
  version: { ts, txId, region: 'p', value, at },
});

export const outcome = (
  partition: number,
  txId: TxId,
  status: 'committed' | 'aborted',
  ts: Timestamp,
  attempt = 0,
): DurableFact => ({ kind: 'outcome', partition, txId, record: { status, ts, attempt, digest: null } });

/** A client that has seen nothing. */
export const client = (view: Partial<ClientView> = {}): ClientView => ({
  session: 's',
  txId: 't',
  snapshot: { ts: 10 },
  floor: { ts: 0 },
  written: new Map(),
  own: new Map(),
  inDoubt: new Map(),
  ...view,
});

/** A reader of all changes that never stops. */
export const reader = (plan: Partial<ReaderPlan> = {}): ReaderPlan => ({
  name: 'r',
  prefix: '',
  beginMs: 0,
  pauseMs: 10,
  waitMs: 100,
  limitBytes: 10_000,
  roams: 0.5,
  compares: 0.1,
  stops: [],
  ...plan,
});

/** Puts facts on a disk. */
export function hold(disk: MemoryState, facts: readonly DurableFact[]): void {
  for (const fact of facts) disk.apply(fact);
}
