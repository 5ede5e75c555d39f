import type { KeyWrite, LogGroup, NodeId, PartitionId, QualifiedKey, Timestamp, TxId, Version } from '@isochron/core';

/**
 * What machines say, in words that all protocols share. An adapter translates messages into them; checks listen. Whatever is
 * not said of a protocol is not checked for it.
 */
export interface Observations {
  /** The node promises that its replica has prepared the attempt at `pt`. */
  prepared(node: NodeId, partition: PartitionId, txId: TxId, attempt: number, pt: Timestamp): void;
  /** The node claims that the transaction is committed. The attempt where the message tells it. */
  committed(node: NodeId, txId: TxId, attempt: number | null, ct: Timestamp): void;
  /** The node claims that the attempt never commits. */
  aborted(node: NodeId, txId: TxId, attempt: number): void;
  /** The node promises its peers that its replica has no version left to send at or below the clock. */
  published(node: NodeId, partition: PartitionId, clock: Timestamp): void;
  /** The node promises that these groups, which it sourced, are durable. */
  replicated(node: NodeId, partition: PartitionId, groups: readonly LogGroup[]): void;
  /** The node says that this snapshot is installed everywhere. */
  stable(node: NodeId, ust: Timestamp): void;
  /** The node's own newest stable time, as it tells it to another node: never falls in a life. */
  announced(node: NodeId, to: NodeId, ust: Timestamp): void;
  /** A replica answered a read of a snapshot. */
  slice(
    node: NodeId,
    partition: PartitionId,
    snapshot: Timestamp,
    keys: readonly QualifiedKey[],
    versions: readonly (Version | null)[],
  ): void;
  /** A replica answered its part of a listing: complete below `next`. */
  listed(node: NodeId, partition: PartitionId, snapshot: Timestamp, listed: ListedSlice): void;
}

export interface ListedSlice {
  readonly start: QualifiedKey;
  readonly end: QualifiedKey | null;
  readonly limit: number;
  readonly entries: readonly { readonly key: QualifiedKey; readonly version: Version }[];
  readonly next: QualifiedKey | null;
}

/** What clients learn. Told by the simulator itself. */
export interface ClientObservations {
  /** A session was given a snapshot. */
  snapshot(client: ClientView, snapshot: Timestamp): void;
  /** A read of a transaction came to its application. */
  read(client: ClientView, key: QualifiedKey, value: KeyWrite['value']): void;
  /** A commit was acknowledged. */
  acknowledged(txId: TxId, ct: Timestamp, writes: readonly KeyWrite[]): void;
  /** A read of a transaction was refused because what it needs was collected, while the transaction was open. */
  collected(client: ClientView): void;
  /** The cluster told a client that nothing of it will ever happen. */
  refused(txId: TxId): void;
  /** A node answered how a transaction ended; `askedMs`: when it was asked. */
  status(txId: TxId, status: string, ts: Timestamp | null, askedMs: number): void;
}

/** What a client knows at a read, from its own doings alone. */
export interface ClientView {
  readonly session: string;
  readonly txId: TxId;
  readonly snapshot: Timestamp | undefined;
  /** The highest snapshot that the session knew when the transaction began. */
  readonly floor: Timestamp;
  /** Own writes of this very transaction. */
  readonly written: ReadonlyMap<QualifiedKey, KeyWrite['value']>;
  /** Own acknowledged writes from before the transaction began, the newest of each key; empty for reads of the past. */
  readonly own: ReadonlyMap<
    QualifiedKey,
    { readonly ct: Timestamp; readonly txId: TxId; readonly value: KeyWrite['value'] }
  >;
}
