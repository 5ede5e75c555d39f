/** Compares the papers' claims with measurements. A claim is data; this computes our figure of it. */
import { quantile } from '../figures.js';
import { curveOf, latencyAt, measureAt, type Point, peakOf, type Statistic } from './curve.js';
import type { Kind } from './experiment.js';
import { measureNamed } from './measures.js';
import type { ExperimentRecord, VisibilitySample } from './samples.js';

/** A curve: its system and its case. */
export interface Place {
  readonly system: string;
  readonly case: string;
}

/** The quantity of a point. */
export type Quantity =
  | { readonly is: 'throughput' }
  | { readonly is: 'latency'; readonly statistic: Statistic; readonly kind?: Kind }
  | { readonly is: 'measure'; readonly name: string };

/** The computation of our figure. */
export type Rule =
  | {
      /** `of` divided by `to`, or `of` itself. */
      readonly kind: 'curves';
      readonly quantity: Quantity;
      readonly of: Place;
      readonly to?: Place;
      /**
       * `peak`: each at the point of its highest throughput. `sessions`, `throughput`: both at the same number of
       * sessions, or at the same throughput (interpolated between two points of `to`), at the point with the greatest
       * figure.
       */
      readonly at: 'peak' | 'sessions' | 'throughput';
      /** Points with fewer sessions are ignored. */
      readonly minSessions?: number;
    }
  | {
      /** A quantile of the visibility latency of `of`, over that of `to` or itself. */
      readonly kind: 'visibility';
      readonly of: string;
      readonly to?: string;
      readonly readers: 'local' | 'remote';
      readonly share: number;
      readonly as: 'ratio' | 'difference';
    }
  | {
      /** Keys that a region holds, on average: those of `of` over those of `to`. */
      readonly kind: 'keys held';
      readonly of: string;
      readonly to: string;
    };

export interface Claim {
  readonly experiment: string;
  readonly claim: string;
  /** The paper's figure. */
  readonly paper: string;
  readonly rule: Rule;
  readonly unit: '×' | 'ms' | '%' | 'per operation' | 'per update' | 'per readers check';
  /** Without a bound, the figure is only shown. */
  readonly bound?: { readonly is: 'at least' | 'at most'; readonly value: number };
  /** Of a figure that is not reached: the known reason. */
  readonly found?: string;
}

/** Our figure, and its conditions. */
export interface Finding {
  readonly value: number;
  readonly conditions: string;
}

/** Undefined if a measurement that it needs is missing. */
export function findingOf({ rule }: Pick<Claim, 'rule'>, record: ExperimentRecord): Finding | undefined {
  switch (rule.kind) {
    case 'curves':
      return rule.at === 'peak' ? atPeak(rule, record) : atSameLoad(rule, record);
    case 'visibility':
      return visibility(rule, record);
    case 'keys held':
      return keysHeld(rule, record);
  }
}

/** Whether the bound is reached; undefined without a bound or a figure. */
export function isReached({ bound }: Pick<Claim, 'bound'>, finding: Finding | undefined): boolean | undefined {
  if (bound === undefined || finding === undefined) return undefined;
  return bound.is === 'at least' ? finding.value >= bound.value : finding.value <= bound.value;
}

type CurvesRule = Extract<Rule, { kind: 'curves' }>;

function atPeak({ quantity, of, to, minSessions = 0 }: CurvesRule, record: ExperimentRecord): Finding | undefined {
  const peak = peakOf(pointsOf(record, of, minSessions));
  const value = peak && quantityAt(peak, quantity);
  if (value === undefined) return undefined;
  if (to === undefined) return { value, conditions: `at ${peak!.sessions} sessions` };
  const other = peakOf(pointsOf(record, to, minSessions));
  const base = other && quantityAt(other, quantity);
  if (base === undefined || base === 0) return undefined;
  return { value: value / base, conditions: `at ${peak!.sessions} and ${other!.sessions} sessions` };
}

function atSameLoad(
  { quantity, of, to, at, minSessions = 0 }: CurvesRule,
  record: ExperimentRecord,
): Finding | undefined {
  const others = to && pointsOf(record, to, minSessions);
  const findings = pointsOf(record, of, minSessions).flatMap((point): Finding[] => {
    const value = quantityAt(point, quantity);
    const base = others === undefined ? 1 : baseAt(at, point, others, quantity);
    if (value === undefined || base === undefined || base === 0) return [];
    const load =
      at === 'throughput' ? `${Math.round(point.rate).toLocaleString('en-US')}/s` : `${point.sessions} sessions`;
    return [{ value: value / base, conditions: `at ${load}` }];
  });
  return findings.sort((a, b) => b.value - a.value)[0];
}

/** The quantity of another curve at the load of a point. */
function baseAt(at: CurvesRule['at'], { sessions, rate }: Point, others: readonly Point[], quantity: Quantity) {
  if (at === 'throughput') return atRate(others, rate, quantity);
  const same = others.find((other) => other.sessions === sessions);
  return same && quantityAt(same, quantity);
}

/**
 * The quantity at a throughput, on the way up to the peak. Below the first point it is that point's, since a lower load
 * would be no slower; above the peak it is undefined.
 */
function atRate(curve: readonly Point[], rate: number, quantity: Quantity): number | undefined {
  const peak = peakOf(curve);
  const rising = curve.filter(({ sessions }) => peak !== undefined && sessions <= peak.sessions);
  const next = rising.findIndex((point) => point.rate >= rate);
  if (next < 0) return undefined;
  const [below, above] = [rising[Math.max(0, next - 1)]!, rising[next]!];
  const [low, high] = [quantityAt(below, quantity), quantityAt(above, quantity)];
  if (low === undefined || high === undefined || below === above) return high;
  return low + ((high - low) * (rate - below.rate)) / (above.rate - below.rate);
}

const pointsOf = (record: ExperimentRecord, place: Place, minSessions: number): Point[] =>
  curveOf(record, place.case, place.system).filter(({ sessions }) => sessions >= minSessions);

function quantityAt(point: Point, quantity: Quantity): number | undefined {
  if (quantity.is === 'throughput') return point.rate;
  if (quantity.is === 'latency') return latencyAt(point, quantity.statistic, quantity.kind);
  return measureAt(point, measureNamed(quantity.name));
}

function visibility(rule: Extract<Rule, { kind: 'visibility' }>, record: ExperimentRecord): Finding | undefined {
  const [of, to] = [rule.of, rule.to].map((system) => {
    const samples = record.visibility.find((own) => own.system === system)?.samples.filter(isOf(rule.readers));
    return samples?.length
      ? quantile(
          samples.map(({ ms }) => ms),
          rule.share,
        )
      : undefined;
  });
  if (of === undefined) return undefined;
  const conditions = `p${rule.share * 100} of ${rule.readers} readers, ${record.experiment.visibility?.sessions} sessions`;
  if (rule.to === undefined) return { value: of, conditions };
  if (to === undefined || (rule.as === 'ratio' && to === 0)) return undefined;
  return { value: rule.as === 'ratio' ? of / to : of - to, conditions };
}

/** Samples of readers in the writer's region, or in others. */
export const isOf =
  (readers: 'local' | 'remote') =>
  ({ source, reader }: VisibilitySample): boolean =>
    (source === reader) === (readers === 'local');

function keysHeld(rule: Extract<Rule, { kind: 'keys held' }>, record: ExperimentRecord): Finding | undefined {
  const [of, to] = [rule.of, rule.to].map((system) => {
    const held = Object.values(record.systems.find(({ name }) => name === system)?.keysByRegion ?? {});
    return held.length === 0 ? undefined : held.reduce((sum, keys) => sum + keys, 0) / held.length;
  });
  if (of === undefined || to === undefined) return undefined;
  return {
    value: of / to,
    conditions: `${of.toLocaleString('en-US')} and ${to.toLocaleString('en-US')} keys a region`,
  };
}
