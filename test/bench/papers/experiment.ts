/** An experiment as data, which `run.ts` carries out and `report.ts` describes. */
import type { ProtocolName } from '@isochron/protocols/session-rules';
import type { OperationMix, TransactionMix } from '@isochron/workload';
import type { Layout } from '../cluster.js';

/** The operations that each session repeats, in a closed loop. */
export type LoadShape =
  | { readonly kind: 'transactions'; readonly mix: TransactionMix }
  | {
      readonly kind: 'operations';
      readonly mix: OperationMix;
      /** Between the answer to an operation and the session's next one, ms. */
      readonly pauseMs?: number;
    };

/** One of the systems that are compared. */
export interface System {
  /** Its name in plots and claims; unique in the experiment. */
  readonly name: string;
  readonly protocol: ProtocolName;
  /** If it differs from the experiment's. */
  readonly replication?: number;
}

/** A curve for each system. */
export interface Case {
  readonly name: string;
  readonly load: LoadShape;
  /** Points of its curves, if they differ from the experiment's. */
  readonly sessions?: readonly number[];
}

export interface Experiment {
  /** Its name in `--only`. */
  readonly name: string;
  readonly about: string;
  /** Its place in the paper. */
  readonly figure: string;
  readonly systems: readonly System[];
  readonly layout: Omit<Layout, 'protocol'>;
  /** Without cases, keys are only written and counted. */
  readonly cases: readonly Case[];
  /** Points of each curve, unless a case has its own: sessions in all regions together. */
  readonly sessions: readonly number[];
  /** The load under which the visibility of updates is sampled. */
  readonly visibility?: { readonly case: string; readonly sessions: number };
}

/** Kinds of operations, each with latencies of its own. */
export type Kind = 'transaction' | 'read' | 'write';

/** Points of the curves of a case. */
export const sessionsOf = (experiment: Pick<Experiment, 'sessions'>, { sessions }: Pick<Case, 'sessions'>) =>
  sessions ?? experiment.sessions;

/** The smaller form of an experiment for `--quick`: the same path, few points. */
export function quickForm(experiment: Experiment): Experiment {
  const { cases, visibility } = experiment;
  const first = cases.slice(0, 1).map(({ name, load }) => ({ name, load }));
  const sessions = cases.length === 0 ? [] : sessionsOf(experiment, cases[0]!);
  const few = [...new Set([sessions[0], sessions[2] ?? sessions.at(-1)])].filter((count) => count !== undefined);
  return {
    ...experiment,
    cases: first,
    sessions: few,
    ...(visibility && { visibility: { case: first[0]!.name, sessions: few[0]! } }),
  };
}
