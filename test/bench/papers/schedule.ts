/** The duration of a run, which is printed before it starts, and its remaining time. */
import { warmUpMs } from '../rounds.js';
import { type Experiment, sessionsOf } from './experiment.js';
import { LEAD_IN_MS, stepNames, WARM_UP_MS } from './run.js';
import type { RunSettings } from './samples.js';

type Size = Pick<RunSettings, 'rounds' | 'durationMs' | 'keysPerPartition'>;

/** On two cores of 2024; slower machines take longer, and the remaining time is corrected by the time so far. */
const START_OF_A_NODE_MS = 700;
const KEYS_PER_MS = 6;
/** To wake the nodes, connect the sessions of a round, and read the nodes' counters. */
const AROUND_A_ROUND_MS = 700;
/** After the writes of a probe, until the last of them is visible. */
const AFTER_A_PROBE_MS = 600;

/** One step of an experiment. */
export interface Step {
  readonly experiment: string;
  readonly what: string;
  readonly ms: number;
}

/** All steps of a run, in order, with their planned times. */
export const stepsOf = (experiments: readonly Experiment[], size: Size): Step[] =>
  experiments.flatMap((experiment) => {
    const { name } = experiment;
    const times = timesOf(experiment, size);
    return stepNames(experiment).map((what, i) => ({ experiment: name, what, ms: times[i]! }));
  });

/** In the order of the steps' names. */
function timesOf(experiment: Experiment, size: Size): number[] {
  const { cases, systems, visibility } = experiment;
  const { rounds, durationMs } = size;
  const around = (rounds + 1) * (LEAD_IN_MS + AROUND_A_ROUND_MS);
  const point = systems.length * (warmUpMs(durationMs) + rounds * durationMs + around);
  const probe = systems.length * (rounds + 1) * AFTER_A_PROBE_MS;
  return [
    systems.reduce((sum, system) => sum + startMs(experiment, system, size), 0),
    ...cases.flatMap((each) => sessionsOf(experiment, each).map(() => point)),
    ...(visibility === undefined ? [] : [point + probe]),
  ];
}

function startMs(
  { layout, cases }: Experiment,
  { replication = layout.replication }: { replication?: number },
  size: Size,
) {
  const nodes = layout.regions.length * layout.nodesPerRegion;
  const keys = layout.partitions * size.keysPerPartition * replication;
  const warmUp = cases.length === 0 ? 0 : WARM_UP_MS + LEAD_IN_MS + AROUND_A_ROUND_MS;
  return nodes * START_OF_A_NODE_MS + keys / KEYS_PER_MS + warmUp;
}

export const totalMs = (steps: readonly Step[]): number => steps.reduce((sum, { ms }) => sum + ms, 0);

/** The progress of a run. */
export class Schedule {
  #done = 0;

  constructor(
    readonly steps: readonly Step[],
    /** In ms. */
    readonly now: () => number,
    readonly startedAt = now(),
  ) {}

  /** A step begins, and all before it are over, done or left out. Returns the planned time of it and the rest, ms. */
  begins(experiment: string, what: string): number {
    const at = this.steps.findIndex((step) => step.experiment === experiment && step.what === what);
    if (at > this.#done) this.#done = at;
    const [planned, left] = [totalMs(this.steps.slice(0, this.#done)), totalMs(this.steps.slice(this.#done))];
    // With few steps done, the planned time has more weight.
    const known = planned / (planned + left);
    const pace = planned === 0 ? 1 : (this.now() - this.startedAt) / planned;
    return left * (1 + known * (pace - 1));
  }
}

/** As text, to the minute or to ten seconds. */
export function timeText(ms: number): string {
  if (ms >= 90_000) return `about ${Math.round(ms / 60_000)} min`;
  return `about ${Math.max(10, Math.round(ms / 10_000) * 10)} s`;
}
