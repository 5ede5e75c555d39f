/**
 * The files of step traces, as data. `README.md` documents each field.
 *
 * Infinity is null. An absent field stands for undefined.
 */
import type { ExportedSession } from '@isochron/client/session/exported';
import type { ListRequest } from '@isochron/client/session/listing';
import type { HandleMode } from '@isochron/client/session/snapshot-handle';
import type { ClientTimes } from '@isochron/client/times';
import type { ErrorCode } from '@isochron/core/errors';
import type { Timestamp } from '@isochron/core/ids';
import type { ClientFrame, HeldBack } from '@isochron/wire/session-frames';
import type { VectorValue } from '../format.js';

/** An application's call, as `Call` of the client. */
export type StepCall =
  | { readonly f: 'connect' | 'detach' | 'close' }
  | { readonly f: 'read'; readonly handle?: number; readonly keys: readonly string[] }
  | { readonly f: 'list'; readonly handle: number; readonly request: ListRequest }
  | { readonly f: 'open' | 'commit'; readonly handle: number }
  | { readonly f: 'write'; readonly key: string; readonly value: VectorValue }
  | { readonly f: 'stable'; readonly ts: Timestamp; readonly timeoutMs: number }
  | { readonly f: 'status'; readonly txId: string; readonly sentAfter?: Timestamp };

/** An input of the machine. */
export type StepInput =
  | { readonly do: 'call'; readonly caller: number; readonly call: StepCall }
  | { readonly do: 'cancel'; readonly caller: number }
  | { readonly do: 'begin'; readonly handle: number; readonly mode: HandleMode; readonly snapshot?: Timestamp }
  /** A write of the handle's transaction. The driver makes it itself, without the machine. */
  | { readonly do: 'write'; readonly handle: number; readonly key: string; readonly value: VectorValue }
  | { readonly do: 'end'; readonly handle: number }
  | { readonly do: 'opened'; readonly socket: number }
  | { readonly do: 'message'; readonly socket: number; readonly data: string }
  | { readonly do: 'closed'; readonly socket: number; readonly code?: number; readonly reason: string }
  | { readonly do: 'loaded'; readonly protocol: string; readonly failed?: ErrorCode }
  /** The credentials that were asked for; none where the application has failed to give some. */
  | { readonly do: 'credentials'; readonly credentials?: string }
  | { readonly do: 'network' | 'timer' | 'turn' }
  /** Asks for the session as data. */
  | { readonly do: 'export' };

/** A call's failure. `cancelled` is the reason of a cancelled call. */
export interface StepError {
  readonly code: ErrorCode | 'cancelled';
  readonly retryable?: boolean;
  /** Of OUTCOME_UNKNOWN: the write. Of SESSION_BLOCKED: the write that blocks. */
  readonly txId?: string;
  readonly sentAfter?: Timestamp;
}

/** The result of a call: see `README.md`. */
export type StepValue = object | string | null;

export type StepEffect =
  | { readonly do: 'open'; readonly socket: number; readonly url: string }
  | { readonly do: 'send'; readonly socket: number; readonly frames: readonly ClientFrame[] }
  | { readonly do: 'close'; readonly socket: number; readonly abrupt: boolean }
  | { readonly do: 'load'; readonly protocol: string }
  | { readonly do: 'setTimer'; readonly at: number | null }
  | { readonly do: 'turn' | 'changed' | 'authenticate' }
  | { readonly do: 'resolve'; readonly caller: number; readonly value: StepValue }
  | { readonly do: 'reject'; readonly caller: number; readonly error: StepError }
  /** The step itself is refused. */
  | { readonly do: 'throw'; readonly error: StepError }
  | { readonly do: 'exported'; readonly session: ExportedSession };

export interface StepStatus {
  readonly state: string;
  readonly region?: string;
  readonly node?: string;
  readonly rttMs?: number;
  readonly ust: Timestamp;
  readonly stalenessMs?: number;
  readonly stale: boolean;
  readonly heldBackBy?: HeldBack;
  readonly unresponsive: readonly string[];
  readonly pendingCommits: number;
  readonly deferredCommits: number;
  readonly oldestPendingCommitMs?: number;
}

/** One step: its input, its draws, and its effects in their order. */
export type Step = StepInput & {
  /** The steady clock, ms. */
  readonly at: number;
  /** Numbers drawn from the random source, in their order. */
  readonly random?: readonly number[];
  /** New names of sessions, in their order. */
  readonly ids?: readonly string[];
  readonly out: readonly StepEffect[];
  /** The status after the step, where `changed` is among its effects. */
  readonly status?: StepStatus;
  /** The states of all undecided writes after the step, where the step has changed them. */
  readonly writes?: readonly string[];
};

export interface StepSettings {
  readonly endpoints: readonly string[];
  readonly credentials?: string;
  /** The application gives credentials on request. */
  readonly auth?: true;
  /** In the files, null stands for infinity. */
  readonly times: ClientTimes;
  readonly token?: string;
  readonly session?: ExportedSession;
}

/** One client from its beginning. */
export interface StepTrace {
  readonly name: string;
  /** The steady clock when the client is made. */
  readonly at: number;
  readonly settings: StepSettings;
  readonly steps: readonly Step[];
}
