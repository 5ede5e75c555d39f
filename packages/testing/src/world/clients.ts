/**
 * Shorthands of the claim tests: one-shot reads and writes, and sessions that follow Algorithm 1 through the real
 * session code.
 */
import {
  type Content,
  type NodeId,
  qualify,
  type RegionId,
  type Timestamp,
  type Topology,
  type TxId,
  type Value,
} from '@isochron/core';
import type { CommitReq } from '@isochron/protocols/kernel/transactions/messages';
import type { Session, SessionTransaction } from '@isochron/protocols/kernel/transactions/session';
import type { World } from './world.js';

let sessions = 0;

/** A key of the default keyspace that lies in the given partition. */
export function keyIn(world: { readonly topology: Topology }, partition: number, name = 'k'): string {
  for (let i = 0; ; i++) {
    const key = qualify('default', `${name}${i}`);
    if (world.topology.partitionOf(key) === partition) return key;
  }
}

/** A client that follows Algorithm 1 against any node. */
export class TestClient {
  constructor(
    readonly world: World,
    public node: NodeId,
    readonly session: Session = world.newSession(`test-session-${String(sessions++).padStart(6, '0')}`),
  ) {}

  get region(): RegionId {
    return this.world.topology.regionOf(this.node);
  }

  begin(): SessionTransaction {
    const tx = this.session.begin();
    const { ts: ust, deps } = this.session.seen;
    const answer = this.world.call(this.node, { type: 'StartTxReq', txId: tx.id, ust, at: null, deps }, 'StartTxResp');
    this.session.started(tx, answer.snapshot, answer.deps);
    return tx;
  }

  read(tx: SessionTransaction, ...keys: string[]): (Value | null)[] {
    const missing = keys.filter((key) => tx.lookup(key) === undefined);
    if (missing.length > 0) {
      const request = { type: 'ReadReq' as const, txId: tx.id, ust: 0, at: null, keys: missing };
      const { versions } = this.world.call(this.node, request, 'ReadResp');
      missing.forEach((key, i) => {
        tx.record(key, versions[i] ?? null);
      });
    }
    return keys.map((key) => tx.lookup(key)!.value);
  }

  /** The request that commits the transaction; send it as often as you like. */
  commitRequest(tx: SessionTransaction): Omit<CommitReq, 'ref'> {
    const { txId, deps, hwt, sentAfter, writes } = this.session.commit(tx);
    const attemptRegions = [this.region];
    const { version } = this.world.node(this.node).parts.maps.current;
    return {
      type: 'CommitReq',
      txId,
      snapshot: null,
      deps,
      hwt,
      sentAfter,
      attemptRegions,
      principal: 'anonymous',
      writes,
      ...(version > 0 && { maps: [version] }),
    };
  }

  commit(tx: SessionTransaction): Timestamp {
    const { ct, deps } = this.world.call(this.node, this.commitRequest(tx), 'CommitResp');
    this.session.committed(ct, deps);
    return ct;
  }

  write(entries: Record<string, Content>): { ct: Timestamp; txId: TxId } {
    const tx = this.begin();
    for (const [key, value] of Object.entries(entries)) tx.write(key, value);
    return { ct: this.commit(tx), txId: tx.id };
  }

  readOnce(...keys: string[]): (Value | null)[] {
    const tx = this.begin();
    const values = this.read(tx, ...keys);
    this.session.end(tx);
    return values;
  }
}
