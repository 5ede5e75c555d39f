/** Reasons why a figure differs from the paper's, as far as the run itself shows them. */
import type { Claim, Finding } from './claim.js';
import { curveOf, peakOf } from './curve.js';
import { measureNamed } from './measures.js';
import type { ExperimentRecord, RunRecord } from './samples.js';

/** A claim and its result in a run. */
export interface Situation {
  readonly claim: Claim;
  readonly run: RunRecord;
  /** Of the claim's experiment, if it was run. */
  readonly record: ExperimentRecord | undefined;
  readonly finding: Finding | undefined;
  readonly reached: boolean | undefined;
}

/** The text of the reason if it applies. */
type Reason = (situation: Situation) => string | undefined;

/** Reasons for a missing figure. Only the first that applies is shown. */
const WITHOUT_FIGURE: readonly Reason[] = [
  ({ record }) => (record === undefined ? 'the experiment was not run' : undefined),
  ({ record, claim }) => {
    const absent = record!.systems.filter(
      ({ name, absent }) => absent !== undefined && systemsOf(claim).includes(name),
    );
    return absent.length === 0 ? undefined : `not run: ${absent.map(({ name }) => name).join(', ')}`;
  },
  ({ record, claim }) => {
    const missing = casesOf(claim).find((name) => !record!.points.some((point) => point.case === name));
    return missing === undefined ? undefined : `the case ${missing} was not run`;
  },
  ({ claim: { rule } }) =>
    rule.kind === 'curves' && rule.quantity.is === 'measure'
      ? `nothing to compute it from: ${measureNamed(rule.quantity.name).needs.join(', ')}`
      : undefined,
  () => 'no point at which both can be compared',
];

/** Reasons for a figure that is not reached. All that apply are shown. */
const OF_A_FIGURE: readonly Reason[] = [
  ({ claim }) => claim.found,
  ({ run }) => (run.settings.quick ? 'a quick run measures nothing' : undefined),
  ({ run, record }) => {
    const nodes = nodeCount(record!);
    return nodes <= run.machine.cores
      ? undefined
      : `${nodes} nodes of each system, and the clients, share ${run.machine.cores} cores: what waits leaves its core to others, so waiting costs less throughput than on machines of their own`;
  },
  ({ run }) =>
    run.machine.loadBefore > 0.5
      ? `others used the machine (load ${run.machine.loadBefore.toFixed(1)} before the run)`
      : undefined,
  ({ claim, record }) => {
    const rising = stillRising(claim, record!);
    return rising.length === 0 ? undefined : `throughput still rises at the most sessions: ${rising.join(', ')}`;
  },
];

/** A short text; empty if the paper's figure is reached. */
export function reasonsOf(situation: Situation): string {
  if (situation.finding === undefined) return firstOf(WITHOUT_FIGURE, situation);
  if (situation.reached !== false) return '';
  return OF_A_FIGURE.flatMap((reason) => reason(situation) ?? []).join('; ');
}

function firstOf(reasons: readonly Reason[], situation: Situation): string {
  for (const reason of reasons) {
    const text = reason(situation);
    if (text !== undefined) return text;
  }
  return '';
}

const nodeCount = ({ experiment: { layout } }: ExperimentRecord): number =>
  layout.regions.length * layout.nodesPerRegion;

function systemsOf({ rule }: Claim): string[] {
  const places = rule.kind === 'curves' ? [rule.of.system, rule.to?.system] : [rule.of, rule.to];
  return places.filter((system) => system !== undefined);
}

const casesOf = ({ rule }: Claim): string[] =>
  rule.kind === 'curves' ? [rule.of.case, ...(rule.to === undefined ? [] : [rule.to.case])] : [];

/** Systems of a claim about throughput whose highest point is the last one. */
function stillRising({ rule }: Claim, record: ExperimentRecord): string[] {
  if (rule.kind !== 'curves' || rule.quantity.is !== 'throughput') return [];
  return [rule.of, rule.to ?? rule.of].flatMap((place) => {
    const curve = curveOf(record, place.case, place.system);
    return curve.length > 1 && peakOf(curve) === curve.at(-1) ? [place.system] : [];
  });
}
