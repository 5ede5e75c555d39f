import type { DurableFact, NodeId, Timestamp, Topology } from '@isochron/core';
import type { VirtualTime } from '@isochron/simulated-world/virtual-time';
import type { MemoryState } from '@isochron/storage';
import type { FaultPlan } from '../plan/plan.js';
import type {
  AlbumObservations,
  BoardObservations,
  ClientObservations,
  CredentialObservations,
  FeedObservations,
  LiveObservations,
  NoteObservations,
  Observations,
} from './evidence/observations.js';

/** The kinds of failures. */
export type FailureKind =
  /** A promise was broken. */
  | 'safety'
  /** After everything was healed, some work did not end. */
  | 'liveness'
  /** A machine threw: a broken invariant, or worse. */
  | 'crash';

export interface Failure {
  readonly check: string;
  readonly kind: FailureKind;
  readonly message: string;
  /** Number and time of the event during which the failure was noticed. */
  readonly step: number;
  readonly atMs: number;
  /** Names in the failure (transactions, keys, nodes), which a trace is searched for. */
  readonly about: readonly string[];
}

/** Events that a check receives beside those of messages and clients. */
export interface NodeObservations {
  /** A machine asks for a record in its step. */
  wrote(node: NodeId, record: DurableFact): void;
  /** A batch is on disk. */
  durable(node: NodeId, records: readonly DurableFact[]): void;
  /** A frame leaves with the clock of its node. */
  frameLeft(node: NodeId, hlc: Timestamp): void;
  started(node: NodeId): void;
  /** A link of the node has come up. */
  linked(node: NodeId): void;
  /** The node's disk has lost data; `left` is the rest. */
  onDataLoss(node: NodeId, left: MemoryState): void;
  /** A fault of the plan begins, or is over. */
  fault(fault: FaultPlan, begins: boolean): void;
  crashed(node: NodeId): void;
  /** Called now and then, for work that is too expensive for every event. */
  round(): void;
  /** Everything was healed, and all work has ended. */
  converged(): void;
  /** The run is over, however it went. */
  end(): void;
}

/** A rule that must hold. A check observes from outside and trusts no report of the machines. */
export type Check = { readonly name: string } & Partial<Everything>;

/** The context of a check. */
export interface CheckContext {
  readonly topology: Topology;
  readonly time: VirtualTime;
  /** Whether a node was lost with its disk for good. */
  isGone?(node: NodeId): boolean;
  fail(check: string, message: string, about: readonly string[]): void;
}

type Everything = Observations &
  ClientObservations &
  FeedObservations &
  LiveObservations &
  CredentialObservations &
  AlbumObservations &
  BoardObservations &
  NoteObservations &
  NodeObservations;
type Handler = (...args: never[]) => void;

const NAMES = {
  prepared: 1,
  committed: 1,
  aborted: 1,
  strangeAttempt: 1,
  published: 1,
  replicated: 1,
  reported: 1,
  revealed: 1,
  chosen: 1,
  stamped: 1,
  learned: 1,
  asked: 1,
  waited: 1,
  stable: 1,
  complete: 1,
  announced: 1,
  slice: 1,
  listed: 1,
  snapshot: 1,
  read: 1,
  began: 1,
  served: 1,
  httpRead: 1,
  httpRepeated: 1,
  sent: 1,
  settled: 1,
  acknowledged: 1,
  refused: 1,
  failed: 1,
  collected: 1,
  status: 1,
  finalStatus: 1,
  feedBegan: 1,
  feedGone: 1,
  feedReceived: 1,
  feedCompared: 1,
  liveShown: 1,
  liveAnew: 1,
  liveTurned: 1,
  liveEnded: 1,
  servedExpired: 1,
  changedPrincipal: 1,
  foreignStatus: 1,
  albumInvites: 1,
  photoAdded: 1,
  photoShown: 1,
  albumRefused: 1,
  boardWrites: 1,
  foundingRefused: 1,
  ruledAsked: 1,
  ruledAnswered: 1,
  wrote: 1,
  durable: 1,
  frameLeft: 1,
  started: 1,
  linked: 1,
  crashed: 1,
  onDataLoss: 1,
  fault: 1,
  round: 1,
  converged: 1,
  end: 1,
} as const satisfies Record<keyof Everything, 1>;

/** Passes each event on to every check that listens to it, in their order. */
export function toAll(checks: readonly Check[]): Everything {
  const everything: Record<string, Handler> = {};
  for (const name of Object.keys(NAMES) as (keyof Everything)[]) {
    const handlers = checks.flatMap((check) => {
      const handler = check[name] as Handler | undefined;
      return handler === undefined ? [] : [handler.bind(check) as Handler];
    });
    const [only] = handlers;
    everything[name] =
      handlers.length === 1 && only !== undefined
        ? only
        : (...args) => {
            for (const handler of handlers) handler(...args);
          };
  }
  return everything as Record<string, Handler> & Everything;
}
