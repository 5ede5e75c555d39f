/**
 * The faults of a trace, and their frequency. Each theme is one kind of fault, so that every kind has long traces.
 */
import type { ErrorCode } from '@isochron/core/errors';
import type { Choice } from '../drawing.js';

/** The fault of a request. */
export type Fault =
  | 'none'
  /** Its answer is late. */
  | 'late'
  /** It is not answered. */
  | 'swallowed'
  /** The connection is lost before it has an effect, or after. */
  | 'cutBefore'
  | 'cutAfter'
  /** The node sends no messages for a while. */
  | 'silent'
  /** The node is down for a while. */
  | 'down'
  /** The node asks its clients to leave. */
  | 'goaway'
  /** Its answer is damaged, or belongs to another request. */
  | 'damaged'
  /** It is refused with one of the theme's codes. */
  | 'refused';

export interface Theme {
  readonly name: string;
  readonly faults: readonly Choice<Fault>[];
  /** Refusals of any request. */
  readonly codes: readonly ErrorCode[];
  /** Refusals of writes. */
  readonly writeCodes: readonly ErrorCode[];
  /**
   * Chance that one refused write begins a time in which all writes are refused: at this node, in its region, or
   * everywhere.
   */
  readonly spell: number;
  /** Chance that a report names unresponsive regions. */
  readonly unresponsive: number;
  /** Chance that a hello is refused. */
  readonly refusedHello: number;
  /** Chance that the program stands still before an event. */
  readonly stalls: number;
  /** Weights of the application's actions: absent ones stay unchanged. */
  readonly does: { readonly [action: string]: number };
  /** The credentials of the client expire, and the application gives new ones. */
  readonly expires?: true;
  /** Maps of the cluster suspend nodes. */
  readonly suspends?: true;
}

const faults = (weights: { readonly [F in Fault]?: number }): readonly Choice<Fault>[] =>
  Object.entries(weights).map(([of, weight]) => ({ of: of as Fault, weight }));

const QUIET: Omit<Theme, 'name'> = {
  faults: faults({ none: 97, late: 2, refused: 1 }),
  codes: ['NOT_READY', 'SNAPSHOT_UNAVAILABLE', 'INTERNAL', 'KEY_INVALID'],
  writeCodes: ['NOT_READY', 'OVERLOADED', 'VALUE_INVALID'],
  spell: 0,
  unresponsive: 0.02,
  refusedHello: 0.01,
  stalls: 0.01,
  does: {},
};

const theme = (name: string, changes: Partial<Theme> = {}): Theme => ({ ...QUIET, name, ...changes });

export const THEMES: readonly Theme[] = [
  theme('quiet'),
  theme('refusals', {
    faults: faults({ none: 60, refused: 40 }),
    codes: [
      'NOT_READY',
      'SNAPSHOT_UNAVAILABLE',
      'STORAGE_FAILED',
      'INTERNAL',
      'INTERNAL',
      'TRANSACTION_UNKNOWN',
      'SNAPSHOT_TOO_OLD',
    ],
    writeCodes: ['NOT_READY', 'SNAPSHOT_UNAVAILABLE', 'STORAGE_FAILED', 'TX_ID_REUSED', 'OUTCOME_FORGOTTEN'],
  }),
  theme('overload', {
    faults: faults({ none: 55, refused: 40, late: 5 }),
    codes: ['OVERLOADED', 'CREDITS_EXHAUSTED'],
    writeCodes: ['OVERLOADED', 'CREDITS_EXHAUSTED', 'STORAGE_FULL', 'CLOCK_DRIFT'],
    spell: 0.6,
    does: { write: 12, commit: 10 },
  }),
  theme('lost answers', {
    faults: faults({ none: 70, cutBefore: 8, cutAfter: 14, swallowed: 6, late: 2 }),
    does: { write: 12, commit: 10 },
  }),
  theme('fail-over', { faults: faults({ none: 70, down: 10, silent: 8, cutAfter: 12 }), refusedHello: 0.2 }),
  theme('pending', {
    faults: faults({ none: 65, refused: 30, cutAfter: 5 }),
    codes: ['REPLICA_UNREACHABLE', 'NOT_READY'],
    writeCodes: ['OUTCOME_PENDING', 'OUTCOME_PENDING', 'REPLICA_UNREACHABLE', 'ATTEMPT_MISMATCH'],
    spell: 0.8,
    unresponsive: 0.2,
    does: { write: 24, commit: 10, status: 4, detach: 8 },
  }),
  theme('aborted', {
    faults: faults({ none: 48, refused: 35, down: 6, goaway: 8, late: 3 }),
    codes: ['NOT_READY'],
    writeCodes: ['TRANSACTION_ABORTED', 'TRANSACTION_ABORTED', 'ATTEMPT_MISMATCH', 'NOT_READY'],
    spell: 0.7,
    unresponsive: 0.2,
    does: { write: 14, commit: 12 },
  }),
  theme('avoided regions', {
    faults: faults({ none: 75, refused: 20, down: 5 }),
    codes: ['REPLICA_UNREACHABLE'],
    writeCodes: ['OUTCOME_PENDING', 'TRANSACTION_ABORTED', 'REPLICA_UNREACHABLE'],
    spell: 0.3,
    unresponsive: 0.6,
    does: { report: 12, write: 10 },
  }),
  theme('drains', { faults: faults({ none: 80, goaway: 14, late: 6 }), does: { report: 6 } }),
  theme('unknown outcomes', {
    faults: faults({ none: 55, swallowed: 20, silent: 12, refused: 8, cutAfter: 5 }),
    writeCodes: ['OUTCOME_PENDING'],
    spell: 0.8,
    does: { write: 24, commit: 10, detach: 10, status: 5, cancel: 4 },
  }),
  theme('damage', { faults: faults({ none: 72, damaged: 25, goaway: 3 }), refusedHello: 0.2 }),
  theme('expiry', {
    faults: faults({ none: 70, refused: 24, cutAfter: 6 }),
    codes: ['TRANSACTION_UNKNOWN', 'TRANSACTION_EXPIRED', 'SNAPSHOT_UNAVAILABLE'],
    writeCodes: ['TRANSACTION_UNKNOWN', 'SNAPSHOT_TOO_OLD'],
    does: { begin: 12, txRead: 24, list: 12, open: 6 },
  }),
  theme('cancelled calls', {
    faults: faults({ none: 75, late: 15, swallowed: 6, cutAfter: 4 }),
    does: { cancel: 20, write: 10, stable: 4 },
  }),
];

const expiring = (name: string, changes: Partial<Theme>): Theme => theme(name, { ...changes, expires: true });

/** The themes of the traces whose credentials expire: a file of its own has those. */
export const RENEWAL_THEMES: readonly Theme[] = [
  expiring('expiring credentials', { does: { begin: 10, txRead: 20, write: 10, commit: 10 } }),
  expiring('renewals that get lost', {
    faults: faults({ none: 76, cutBefore: 6, cutAfter: 8, swallowed: 5, late: 5 }),
    does: { write: 12, commit: 10 },
  }),
  expiring('refused credentials', {
    faults: faults({ none: 80, refused: 16, late: 4 }),
    codes: ['UNAUTHENTICATED', 'UNAUTHENTICATED', 'NOT_READY', 'OVERLOADED', 'TRANSACTION_UNKNOWN'],
    writeCodes: ['UNAUTHENTICATED', 'UNAUTHENTICATED', 'NOT_READY', 'OUTCOME_PENDING'],
    spell: 0.3,
    refusedHello: 0.15,
    does: { write: 14, commit: 10 },
  }),
  expiring('renewals over a fail-over', {
    faults: faults({ none: 70, down: 10, silent: 6, goaway: 6, cutAfter: 8 }),
    refusedHello: 0.1,
  }),
  expiring('renewals of a program that stands still', {
    faults: faults({ none: 70, down: 15, goaway: 5, cutAfter: 10 }),
    refusedHello: 0.5,
    stalls: 0.2,
  }),
];

const suspending = (name: string, { does, ...changes }: Partial<Theme>): Theme =>
  theme(name, {
    does: { write: 14, commit: 10, report: 16, stable: 5, export: 2, ...does },
    ...changes,
    suspends: true,
  });

/** The themes of the traces with maps that suspend nodes, which have a file of their own. */
export const SUSPENSION_THEMES: readonly Theme[] = [
  suspending('suspended nodes', {}),
  suspending('suspended nodes, and open transactions', { does: { begin: 12, txRead: 24, list: 8, open: 4, read: 10 } }),
  suspending('suspended nodes, and lost answers', {
    faults: faults({ none: 70, cutBefore: 6, cutAfter: 12, swallowed: 6, late: 6 }),
  }),
  suspending('suspended nodes, and refusals', {
    faults: faults({ none: 66, refused: 30, late: 4 }),
    writeCodes: ['OUTCOME_PENDING', 'TRANSACTION_ABORTED', 'NOT_READY', 'OVERLOADED', 'PERMISSION_DENIED'],
    spell: 0.4,
    unresponsive: 0.2,
    does: { status: 3 },
  }),
  suspending('suspended nodes, and aborted attempts', {
    faults: faults({ none: 56, refused: 36, cutAfter: 4, late: 4 }),
    writeCodes: ['TRANSACTION_ABORTED', 'TRANSACTION_ABORTED', 'OUTCOME_PENDING', 'PERMISSION_DENIED'],
    spell: 0.7,
    does: { write: 20, commit: 14 },
  }),
  suspending('suspended nodes, and late answers', {
    faults: faults({ none: 50, late: 46, cutAfter: 4 }),
    does: { write: 24, commit: 14, report: 24 },
  }),
  suspending('suspended nodes, and sessions that go on without', {
    faults: faults({ none: 60, swallowed: 14, silent: 8, refused: 14, late: 4 }),
    writeCodes: ['OUTCOME_PENDING', 'REPLICA_UNREACHABLE'],
    spell: 0.6,
    does: { detach: 12, cancel: 4, export: 3 },
  }),
  suspending('suspended nodes, and fail-over', {
    faults: faults({ none: 70, down: 12, silent: 8, goaway: 6, cutAfter: 4 }),
    refusedHello: 0.1,
  }),
];
