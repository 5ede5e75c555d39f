import type {
  KeyWrite,
  LogGroup,
  NodeId,
  PartitionId,
  QualifiedKey,
  RegionId,
  Timestamp,
  TxId,
  Version,
} from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';

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
  /** The report of a region's replica, of what it received from the node's replica, has come. */
  reported(node: NodeId, partition: PartitionId, region: RegionId): void;
  /** The node shows versions of its replica to somebody. */
  revealed(node: NodeId, partition: PartitionId, versions: readonly Version[]): void;
  /** A node has chosen a snapshot; whether it covers what its session has seen. */
  chosen(node: NodeId, text: string, covers: boolean): void;
  /** The node has written a version; `covers`: whether a version depends on all that this one's session has seen. */
  stamped(node: NodeId, txId: TxId, covers: (version: Version) => boolean): void;
  /** The node has shown a version; `covers`: whether its session knows by now what a version depends on. */
  learned(node: NodeId, txId: TxId, key: QualifiedKey, covers: (version: Version) => boolean): void;
  /** Somebody asks a replica to read. */
  asked(request: object): void;
  /** A read has waited at a replica until its snapshot was there; the request is the one that was asked. */
  waited(node: NodeId, partition: PartitionId, request: object): void;
  /** The node says that this snapshot is installed everywhere. */
  stable(node: NodeId, ust: Timestamp): void;
  /** The node says, or acts as if it were so, that every replica of the partition has all that the region has written there up to a timestamp. */
  complete(node: NodeId, partition: PartitionId, region: RegionId, upTo: Timestamp): void;
  /** The node's own newest stable time, as it tells it to another node: never falls in an incarnation. */
  announced(node: NodeId, to: NodeId, ust: Timestamp): void;
  /** A replica answered a read of a snapshot. */
  slice(
    node: NodeId,
    partition: PartitionId,
    snapshot: Snapshot,
    keys: readonly QualifiedKey[],
    versions: readonly (Version | null)[],
  ): void;
  /** A replica answered its part of a listing: complete below `next`. */
  listed(node: NodeId, partition: PartitionId, snapshot: Snapshot, listed: ListedSlice): void;
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
  snapshot(client: ClientView, snapshot: Snapshot): void;
  /** A read of a transaction came to its application. */
  read(client: ClientView, key: QualifiedKey, value: KeyWrite['value']): void;
  /** A transaction begins that reads at no snapshot of the past. */
  began(client: ClientView): void;
  /** A client received that every node of every region serves what it wrote. */
  served(txId: TxId, ct: Timestamp, keys: readonly QualifiedKey[]): void;
  /**
   * A read over HTTP was answered with this version (its `txId` is empty where it is an own write); `known`: the newest
   * one that the lineage of its token has written or read.
   */
  httpRead(caller: string, id: TxId, key: QualifiedKey, version: Version | null, known: OwnWrite | undefined): void;
  /** A commit is sent, for the first time, to this node; its connection stays as long as nothing breaks it. */
  sent(txId: TxId, node: NodeId, writes: readonly KeyWrite[]): void;
  /** A commit has ended, one way or the other. */
  settled(txId: TxId): void;
  /**
   * A commit was acknowledged: those of a session in the order in which it has asked for them; callers over HTTP fork
   * theirs.
   */
  acknowledged(txId: TxId, ct: Timestamp, writes: readonly KeyWrite[], session?: string): void;
  /** A read of a transaction was refused because what it needs was collected, while the transaction was open. */
  collected(client: ClientView): void;
  /** The cluster told a client that nothing of it will ever happen. */
  refused(txId: TxId): void;
  /** A request of a session has failed, or a commit of it: with this code. */
  failed(session: string, code: string): void;
  /** A node answered how a transaction ended; `askedMs`: when it was asked. */
  status(txId: TxId, status: string, ts: Timestamp | null, askedMs: number): void;
}

/** What a client knows at a read, from its own doings alone. */
export interface ClientView {
  readonly session: string;
  readonly txId: TxId;
  readonly snapshot: Snapshot | undefined;
  /** The highest snapshot that the session knew when the transaction began. */
  readonly floor: Snapshot;
  /** Own writes of this very transaction. */
  readonly written: ReadonlyMap<QualifiedKey, KeyWrite['value']>;
  /** Own acknowledged writes from before the transaction began, the newest of each key; empty for reads of the past. */
  readonly own: ReadonlyMap<QualifiedKey, OwnWrite>;
  /** Own writes of each key whose outcome the session was not told: it may learn it later, and show them. */
  readonly inDoubt: ReadonlyMap<QualifiedKey, readonly Omit<OwnWrite, 'ct'>[]>;
}

/** A write that was acknowledged to its session. */
export interface OwnWrite {
  readonly ct: Timestamp;
  readonly txId: TxId;
  readonly value: KeyWrite['value'];
}
