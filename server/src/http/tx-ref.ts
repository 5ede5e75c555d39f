/**
 * Ids of interactive transactions over HTTP: `<transaction id>@<node>@<snapshot>`, and `@<hwt>` where the caller has own writes above the
 * snapshot; numbers in base 36. With it any node can go on where the one that opened it cannot (D8), and every node of
 * every region commits under the same home (D4).
 */
import { isTimestamp, isTxId, type NodeId, type Timestamp, type Topology, type TxId } from '@isochron/core';

/** A transaction as its id names it. */
export interface TxRef {
  readonly txId: TxId;
  /** The node that opened it. */
  readonly owner: NodeId;
  readonly snapshot: Timestamp;
  /** Commit timestamp of the caller's last write before it; not above `snapshot` when that shows all of them. */
  readonly hwt: Timestamp;
}

export function formatTxId({ txId, owner, snapshot, hwt }: TxRef): string {
  const id = `${txId}@${owner}@${snapshot.toString(36)}`;
  return hwt > snapshot ? `${id}@${hwt.toString(36)}` : id;
}

/** Undefined for what no node can have given. */
export function parseTxId(id: string, topology: Topology): TxRef | undefined {
  const [txId = '', owner = '', ...numbers] = id.split('@');
  const [snapshot, hwt = 0] = numbers.map(timestampOf);
  if (snapshot === undefined || numbers.length > 2 || Number.isNaN(snapshot) || Number.isNaN(hwt)) return undefined;
  return isTxId(txId) && topology.hasNode(owner) ? { txId, owner, snapshot, hwt } : undefined;
}

function timestampOf(text: string): Timestamp {
  const value = /^[0-9a-z]{1,11}$/.test(text) ? Number.parseInt(text, 36) : Number.NaN;
  return isTimestamp(value) ? value : Number.NaN;
}
