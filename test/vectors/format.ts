/**
 * The files, as data. Every implementation of the sessions reads them; `README.md` documents each field.
 *
 * Infinity is null. An absent field was absent: the snapshot of a transaction without one, the entries of a snapshot
 * without. An absent `state` equals that of the event before.
 */
import type { Timestamp } from '@isochron/core/ids';

/** JSON text, or bytes as base64; null deletes. */
export type VectorValue = string | { readonly bytes: string } | null;

/** What a write stores: a value, or the JSON text of the operations of an update. */
export type VectorContent = VectorValue | { readonly operations: string };

export interface VectorSnapshot {
  readonly ts: Timestamp;
  readonly deps?: readonly Timestamp[];
}

export interface VectorCacheEntry {
  readonly key: string;
  readonly ct: Timestamp;
  readonly txId: string;
  readonly value: VectorContent;
}

/** The part of a session of transactions that an export carries. */
export interface VectorState {
  readonly ust: Timestamp;
  readonly deps?: readonly Timestamp[];
  readonly hwt: Timestamp;
  readonly cache: readonly VectorCacheEntry[];
}

export interface VectorWrite {
  readonly key: string;
  readonly value: VectorContent;
}

/** The public fields of a transaction. */
export interface VectorView {
  readonly id: string;
  readonly floor: Timestamp;
  readonly snapshot?: Timestamp;
  readonly deps?: readonly Timestamp[];
  readonly covered: Timestamp | null;
  readonly hasWrites: boolean;
  readonly writes: readonly VectorWrite[];
}

/** The result of a read; no `ts` for an absent key and for a write of the same transaction. */
export interface VectorRead {
  readonly value: VectorValue;
  readonly ts?: Timestamp;
}

export interface VectorAttempt {
  readonly txId: string;
  readonly snapshot: Timestamp;
  readonly deps?: readonly Timestamp[];
  readonly hwt: Timestamp;
  readonly sentAfter: Timestamp;
  readonly writes: readonly VectorWrite[];
}

/** The rule of its caller that a session refuses to break. */
export type Refusal =
  | 'snapshotBelowSeen'
  | 'snapshotChanged'
  | 'commitInFlight'
  | 'noCommitInFlight'
  | 'operationUnderWay'
  | 'noOperationUnderWay'
  | 'noPutUnderWay';

/** The outcome for the caller. */
interface Outcome {
  readonly refused?: Refusal;
}

/** An input of a session of transactions, and its outcome. `tx` is a name within the sequence. */
export type TransactionEvent = Outcome & { readonly state?: VectorState } & (
    | { readonly do: 'begin'; readonly tx: string; readonly view: VectorView }
    | { readonly do: 'past'; readonly tx: string; readonly at: Timestamp; readonly view: VectorView }
    | { readonly do: 'started'; readonly tx: string; readonly snapshot: VectorSnapshot; readonly view: VectorView }
    | { readonly do: 'lookup'; readonly tx: string; readonly key: string; readonly read?: VectorRead }
    | {
        readonly do: 'record';
        readonly tx: string;
        readonly key: string;
        readonly version?: { readonly ts: Timestamp; readonly value: VectorValue };
        readonly read: VectorRead;
      }
    | {
        readonly do: 'write';
        readonly tx: string;
        readonly key: string;
        readonly value: VectorContent;
        readonly view: VectorView;
      }
    | {
        readonly do: 'overlay';
        readonly tx: string;
        readonly overlay: readonly (VectorRead & { readonly key: string })[];
      }
    | { readonly do: 'observe'; readonly snapshot: VectorSnapshot }
    | { readonly do: 'stable'; readonly ust: Timestamp }
    | { readonly do: 'commit'; readonly tx: string; readonly attempt?: VectorAttempt }
    | { readonly do: 'committed'; readonly snapshot: VectorSnapshot }
    | { readonly do: 'refused' }
    /** Gives up the order behind the commit in flight, and continues under the new id. Open transactions stay. */
    | { readonly do: 'detach'; readonly id: string }
    | { readonly do: 'end'; readonly tx: string }
    /** Draws `count` ids; `id` is the last one. */
    | { readonly do: 'ids'; readonly count: number; readonly id: string }
    /** Continues as another session, with the state `from`. No transaction goes along. */
    | { readonly do: 'import'; readonly id: string; readonly from: VectorState }
  );

/** A dependency on a version, by its key. Absent `near` is false. */
export interface VectorDependency {
  readonly key: string;
  readonly source: number;
  readonly ts: Timestamp;
  readonly near?: true;
}

/** The part of a session of single operations that an export carries. */
export interface VectorSeen {
  readonly seen: readonly Timestamp[];
  readonly region: string;
  readonly ust: Timestamp;
  readonly depends?: readonly VectorDependency[];
}

export interface VectorAnswer {
  readonly to: 'read' | 'put';
  readonly seen: readonly Timestamp[];
  readonly ust: Timestamp;
  /** Of a PUT: its home region. */
  readonly region?: string;
  readonly depends?: readonly VectorDependency[];
}

export interface VectorGet {
  readonly key: string;
  readonly seen: readonly Timestamp[];
  readonly region: string;
}

export interface VectorRot {
  readonly keys: readonly string[];
  readonly seen: readonly Timestamp[];
  readonly region: string;
  readonly id?: string;
}

export interface VectorPut {
  readonly txId: string;
  readonly key: string;
  readonly value: VectorValue;
  readonly seen: readonly Timestamp[];
  readonly region: string;
  readonly sentAfter: Timestamp;
  readonly attemptRegions: readonly string[];
  readonly depends?: readonly VectorDependency[];
}

/** An input of a session of single operations, and its outcome. */
export type OperationEvent = Outcome & { readonly state?: VectorSeen } & (
    | { readonly do: 'get'; readonly key: string; readonly get?: VectorGet }
    | { readonly do: 'rot'; readonly keys: readonly string[]; readonly rot?: VectorRot }
    | {
        readonly do: 'put';
        readonly key: string;
        readonly value: VectorValue;
        /** The id to use; absent: a new one. */
        readonly tx?: string;
        readonly put?: VectorPut;
      }
    | { readonly do: 'retry'; readonly put?: VectorPut }
    | { readonly do: 'answered'; readonly answer: VectorAnswer }
    | { readonly do: 'refused' }
    | { readonly do: 'move'; readonly region: string }
    | { readonly do: 'observe'; readonly ust: Timestamp }
    | { readonly do: 'ids'; readonly count: number; readonly id: string }
    /** Continues as another session, connected to `region`, with the state `from`. */
    | { readonly do: 'import'; readonly id: string; readonly region: string; readonly from: VectorSeen }
  );

/** One session from its beginning. */
export interface Sequence<E> {
  readonly name: string;
  /** 128 bits as text. */
  readonly id: string;
  /** The region where it begins; only for single operations. */
  readonly region?: string;
  readonly events: readonly E[];
}

export type SessionFile =
  | {
      readonly format: 1;
      readonly protocol: string;
      readonly kind: 'transactions';
      readonly sequences: readonly Sequence<TransactionEvent>[];
    }
  | {
      readonly format: 1;
      readonly protocol: string;
      readonly kind: 'operations';
      readonly sequences: readonly Sequence<OperationEvent>[];
    };
