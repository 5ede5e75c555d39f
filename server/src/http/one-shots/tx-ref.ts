/**
 * Ids of interactive transactions over HTTP: `<transaction id>@<node>@<snapshot>`, and `@<hwt>` where the caller has
 * own writes above the snapshot; numbers in base 36, the entries of a snapshot with dots between them. With the id any
 * node can continue when the opener is gone (D8). The transaction id names the home, the opener's region, under which
 * every node of every region commits (D4).
 */
import { isTimestamp, isTxId, type NodeId, type Timestamp, type Topology, type TxId } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import { homeInId } from '@isochron/sessions';

/** A transaction, parsed from its id. */
export interface TxRef {
  readonly txId: TxId;
  /** The node that opened it. */
  readonly owner: NodeId;
  readonly snapshot: Snapshot;
  /** Commit timestamp of the caller's last write before it; 0 when the snapshot contains all of them. */
  readonly hwt: Timestamp;
}

export function formatTxId({ txId, owner, snapshot: { ts, deps = [] }, hwt }: TxRef): string {
  const snapshot = [ts, ...deps].map((entry) => entry.toString(36)).join('.');
  const id = `${txId}@${owner}@${snapshot}`;
  return hwt > 0 ? `${id}@${hwt.toString(36)}` : id;
}

/**
 * Undefined for an id that no node can have made. @param entries number of entries of a snapshot beside its timestamp
 */
export function parseTxId(id: string, topology: Topology, entries: number): TxRef | undefined {
  const [txId = '', owner = '', numbers = '', last = '0', ...rest] = id.split('@');
  const [ts, ...deps] = numbers.split('.').map(timestampOf);
  const hwt = timestampOf(last);
  if (ts === undefined || deps.length !== entries || rest.length > 0) return undefined;
  if ([ts, hwt, ...deps].some(Number.isNaN)) return undefined;
  const snapshot = entries === 0 ? { ts } : { ts, deps };
  return isOpenedBy(owner, txId, topology) ? { txId, owner, snapshot, hwt } : undefined;
}

const isOpenedBy = (owner: NodeId, txId: TxId, topology: Topology): boolean =>
  isTxId(txId) && topology.hasNode(owner) && homeInId(txId, topology)?.home === topology.regionOf(owner);

function timestampOf(text: string): Timestamp {
  const value = /^[0-9a-z]{1,11}$/.test(text) ? Number.parseInt(text, 36) : Number.NaN;
  return isTimestamp(value) ? value : Number.NaN;
}
