/** The HTTP API of a simulated node, limited to sessions: its callers carry only tokens. */
import type {
  AnyMessage,
  KeyWrite,
  NodeId,
  QualifiedKey,
  RegionId,
  SessionCut,
  Timestamp,
  Topology,
  TxId,
  Version,
} from '@isochron/core';
import type { Envelope, Machine, TimerKind, TransactionStatus } from '@isochron/protocols';
import type { DocumentedTx, SessionStoreLimits } from '@isochron/sessions';

/** One request, with the token of an earlier answer. */
export type HttpRequest =
  | { readonly token: string | undefined; readonly f: 'get'; readonly keys: readonly QualifiedKey[] }
  | {
      readonly token: string | undefined;
      readonly f: 'put';
      readonly txId: TxId;
      /** Whether it has an Idempotency-Key: its id names its home, and it may be a repetition. */
      readonly keyed: boolean;
      readonly writes: readonly KeyWrite[];
    }
  | ChangesRequest
  | PastRequest
  | { readonly f: 'status'; readonly txId: TxId };

/** A message of the change feed; `after` null: its present end. */
export interface ChangesRequest {
  readonly f: 'changes';
  readonly prefix: string;
  readonly after: Timestamp | null;
  readonly waitMs: number;
  readonly limitBytes: number;
  /** Whether the writes come with the documents around them. */
  readonly documents: boolean;
}

/** A read of exactly this snapshot. */
export interface PastRequest {
  readonly f: 'past';
  readonly at: Timestamp;
  readonly keys: readonly QualifiedKey[];
}

export type HttpAnswer =
  | { readonly status: 'read'; readonly token: string; readonly versions: readonly (Version | null)[] }
  | { readonly status: 'written'; readonly token: string; readonly ct: Timestamp }
  | { readonly status: 'ended'; readonly state: TransactionStatus; readonly ts: Timestamp | null }
  | { readonly status: 'past'; readonly versions: readonly (Version | null)[] }
  | {
      readonly status: 'changes';
      readonly from: Timestamp;
      readonly to: Timestamp;
      readonly transactions: readonly DocumentedTx[];
    }
  | { readonly status: 'refused'; readonly code: string };

/** A message of the change feed. */
export type ChangesAnswer = Extract<HttpAnswer, { status: 'changes' }>;

/** The parts of the process that the API of a node uses. */
export interface HttpWorld<M extends AnyMessage> {
  readonly node: NodeId;
  readonly region: RegionId;
  readonly topology: Topology;
  readonly limits: Partial<SessionStoreLimits>;
  /** Its number among the processes of the node. */
  readonly incarnation: number;
  /** How long the cluster keeps outcomes, ms. */
  readonly outcomeRetentionMs: number;
  /** A steady clock, and the wall clock of the node, ms. */
  now(): number;
  wall(): number;
  /** The latest timestamp that a client may name (T1). */
  latest(): Timestamp;
  ust(): Timestamp;
  /** Version of the map that the node has adopted. */
  map(): number;
  cutsAfter(version: number): readonly SessionCut[];
  post(envelope: Envelope<M>): void;
  fire(machine: string, timer: TimerKind): void;
  /** Runs something later, unless the process has ended. */
  after(ms: number, run: () => void): void;
}

export interface HttpNode<M extends AnyMessage> {
  readonly machines: readonly (readonly [name: string, machine: Machine<M>])[];
  handle(request: HttpRequest, done: (answer: HttpAnswer) => void): void;
  /** Refuses new requests, finishes those under way, and hands its sessions over to another node. */
  leave(done: () => void): void;
}
