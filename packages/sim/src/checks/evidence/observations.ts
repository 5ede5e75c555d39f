import type { ScopeView } from '@isochron/client/live/observer';
import type {
  KeyWrite,
  LogGroup,
  NodeId,
  PartitionId,
  QualifiedKey,
  RegionId,
  StoredVersion,
  Timestamp,
  TxId,
  Version,
} from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { LiveScopePlan, ReaderPlan } from '../../plan/plan.js';
import type { ChangesAnswer } from '../../protocols/http.js';
import type { Photo } from '../access/photo.js';

/**
 * The events of machines, in terms that all protocols share. An adapter translates messages into them; checks listen. A
 * protocol is not checked for events that its adapter does not report.
 */
export interface Observations {
  /** The node promises that its replica has prepared the attempt at `pt`. */
  prepared(node: NodeId, partition: PartitionId, txId: TxId, attempt: number, pt: Timestamp): void;
  /** The node reports that the transaction is committed; with the attempt, if the message has it. */
  committed(node: NodeId, txId: TxId, attempt: number | null, ct: Timestamp): void;
  /** The node reports that the attempt never commits. */
  aborted(node: NodeId, txId: TxId, attempt: number): void;
  /**
   * An outsider asks a replica about an attempt that has not begun, with a list of its own (D4): the tombstone that the
   * question leaves does not belong to an attempt with another list.
   */
  strangeAttempt(txId: TxId, attempt: number): void;
  /** The node promises its peers that its replica has no version left to send at or below the clock. */
  published(node: NodeId, partition: PartitionId, clock: Timestamp): void;
  /** The node promises that these groups, which it sourced, are durable. */
  replicated(node: NodeId, partition: PartitionId, groups: readonly LogGroup[]): void;
  /** The node has received the report of a region's replica about the data that it received from the node's replica. */
  reported(node: NodeId, partition: PartitionId, region: RegionId): void;
  /** The node shows versions of its replica to a reader. */
  revealed(node: NodeId, partition: PartitionId, versions: readonly Version[]): void;
  /** A node has chosen a snapshot; `covers`: whether it covers everything that its session has seen. */
  chosen(node: NodeId, text: string, covers: boolean): void;
  /**
   * The node has written a version; `covers`: whether a version depends on everything that the session of this one has
   * seen.
   */
  stamped(node: NodeId, txId: TxId, covers: (version: StoredVersion) => boolean): void;
  /** The node has shown a version; `covers`: whether its session has now seen everything that a version depends on. */
  learned(node: NodeId, txId: TxId, key: QualifiedKey, covers: (version: StoredVersion) => boolean): void;
  /** A replica receives a read. */
  asked(request: object): void;
  /** A read has waited at a replica until its snapshot was there; `request` is the one of `asked`. */
  waited(node: NodeId, partition: PartitionId, request: object): void;
  /** The node reports that this snapshot is installed everywhere. */
  stable(node: NodeId, ust: Timestamp): void;
  /**
   * The node reports, or acts as if, every replica of the partition has all that the region has written there up to a
   * timestamp.
   */
  complete(node: NodeId, partition: PartitionId, region: RegionId, upTo: Timestamp): void;
  /** The node sends its own newest stable time to another node: it never falls in an incarnation. */
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

/** The events of clients, reported by the simulator itself. */
export interface ClientObservations {
  /** A session was given a snapshot. */
  snapshot(client: ClientView, snapshot: Snapshot): void;
  /** A read of a transaction came to its application. */
  read(client: ClientView, key: QualifiedKey, value: KeyWrite['value']): void;
  /** A transaction begins that does not read a snapshot of the past. */
  began(client: ClientView): void;
  /** A client received the answer that every node of every region serves its write. */
  served(txId: TxId, ct: Timestamp, keys: readonly QualifiedKey[]): void;
  /**
   * A read over HTTP was answered with this version (its `txId` is empty where it is an own write); `known`: the newest
   * version that the lineage of its token has written or read.
   */
  httpRead(caller: string, id: TxId, key: QualifiedKey, version: Version | null, known: OwnWrite | undefined): void;
  /** A sending of a write over HTTP under an Idempotency-Key was answered: with its commit timestamp, or a code. */
  httpRepeated(txId: TxId, answer: Timestamp | string, keys: readonly QualifiedKey[]): void;
  /**
   * A commit is sent for the first time: to this node, if its connection stays as long as no fault breaks it.
   */
  sent(txId: TxId, node: NodeId | undefined, writes: readonly KeyWrite[], session: string): void;
  /** A commit has ended, with any outcome. */
  settled(txId: TxId): void;
  /**
   * A commit was acknowledged: the commits of a session in the order of its requests; callers over HTTP fork theirs.
   */
  acknowledged(txId: TxId, ct: Timestamp, writes: readonly KeyWrite[], session?: string): void;
  /** A read of an open transaction was refused because a version that it needs was collected. */
  collected(client: ClientView): void;
  /** A client received that no part of the transaction will ever happen. */
  refused(txId: TxId): void;
  /** A request or a commit of a session has failed with this code. */
  failed(session: string, code: string): void;
  /** A node answered how a transaction ended; `askedMs`: when it was asked. */
  status(txId: TxId, status: string, ts: Timestamp | null, askedMs: number): void;
  /** A session was told the status of an id that another principal has used. */
  foreignStatus(session: string, txId: TxId, status: string): void;
  /** A node of the healed cluster, in which all work has ended, answered how a transaction ended. */
  finalStatus(txId: TxId, node: NodeId, status: string, ts: Timestamp | null): void;
}

/** The events of readers of the change feed, reported by the simulator itself. */
export interface FeedObservations {
  /** The reader begins at a timestamp: at its start, and after its cursor was refused. */
  feedBegan(reader: ReaderPlan, at: Timestamp): void;
  /** The cursor of the reader was refused because the log begins above. */
  feedGone(reader: ReaderPlan, cursor: Timestamp): void;
  /** The reader received a message that a node has sent. */
  feedReceived(reader: ReaderPlan, node: NodeId, message: ChangesAnswer): void;
  /** The reader has read the keys of its scope in the snapshot at its cursor. */
  feedCompared(
    reader: ReaderPlan,
    node: NodeId,
    at: Timestamp,
    versions: ReadonlyMap<QualifiedKey, Version | null>,
  ): void;
}

/** A transaction that a session has given to its client. */
export interface LiveOwn {
  readonly txId: TxId;
  readonly writes: readonly KeyWrite[];
  /** Its client does not wait for it any more: it was refused, or its outcome cannot be found out. */
  isOut: boolean;
}

/** A live query of a session. */
export interface LiveWatch {
  readonly session: string;
  readonly name: string;
  readonly scopes: readonly LiveScopePlan[];
  /** The transactions of its session, in their order. */
  readonly own: readonly LiveOwn[];
}

/** The events of live queries, reported by the simulator itself. */
/** What nodes did with credentials that they have to refuse. */
export interface CredentialObservations {
  /** A request was served that came after the expiry of its session's credentials, by the clock of the node. */
  servedExpired(node: NodeId): void;
  /** Credentials of another principal were accepted for a session. */
  changedPrincipal(node: NodeId): void;
}

export interface LiveObservations {
  /** An observer was called: all its scopes at one snapshot. */
  liveShown(watch: LiveWatch, snapshot: Timestamp, views: readonly ScopeView[]): void;
  /** A session continues under another id: the next call of the observer is the first one of a new client. */
  liveAnew(watch: LiveWatch): void;
  /** The end of a turn in which own writes were given to the client, or decided: what the observer has now. */
  liveTurned(watch: LiveWatch): void;
  /** Its observer was called for the last time: with this code where its client has ended it. */
  liveEnded(watch: LiveWatch, code?: string): void;
}

/** The events of sessions with albums, reported by the simulator itself. */
export interface AlbumObservations {
  /** The owner of an album is about to invite a principal, and knows that it has taken out these photos. */
  albumInvites(reader: string, taken: readonly string[]): void;
  /** A session has received that its photo is committed. */
  photoAdded(session: string, photo: Photo): void;
  /** A session of a principal was shown a photo, in this way. */
  photoShown(session: string, principal: string, photo: Photo, way: string): void;
  /**
   * A request was refused by an access rule; `isOwnPhoto`: an owner was to add a photo to an album that it has made.
   */
  albumRefused(session: string, isOwnPhoto: boolean): void;
}

/** The events of sessions with boards, reported by the simulator itself. */
export interface BoardObservations {
  /** A session gives a transaction to its client. */
  boardWrites(principal: string, txId: TxId, writes: readonly KeyWrite[]): void;
  /** The founding of a board, with an entry, was refused for good by an access rule. */
  foundingRefused(session: string, board: QualifiedKey): void;
}

/** The messages of sessions whose plans name their principals. */
export interface NoteObservations {
  /** A session sends requests on a connection. */
  ruledAsked(principal: string, connection: string, text: string): void;
  /** A session gets frames on a connection. */
  ruledAnswered(principal: string, connection: string, text: string): void;
}

/** The state of a client at a read, derived from its own requests and answers. */
export interface ClientView {
  readonly session: string;
  readonly txId: TxId;
  readonly snapshot: Snapshot | undefined;
  /** The highest snapshot that the session had when the transaction began. */
  readonly floor: Snapshot;
  /** Own writes of this transaction. */
  readonly written: ReadonlyMap<QualifiedKey, KeyWrite['value']>;
  /** Own acknowledged writes from before the transaction began, the newest of each key; empty for reads of the past. */
  readonly own: ReadonlyMap<QualifiedKey, OwnWrite>;
  /** Own writes of each key whose outcome the session has not received: it may receive it later, and show them. */
  readonly inDoubt: ReadonlyMap<QualifiedKey, readonly Omit<OwnWrite, 'ct'>[]>;
}

/** A write that was acknowledged to its session. */
export interface OwnWrite {
  readonly ct: Timestamp;
  readonly txId: TxId;
  readonly value: KeyWrite['value'];
  /** The session's write of the key before an update. */
  readonly before?: OwnWrite;
}
