/** The measures of a round: each names the metrics of the nodes that it needs. */
import type { ProtocolName } from '@isochron/protocols/session-rules';
import { metricKey } from './metrics.js';
import type { RoundSample } from './samples.js';

export interface Measure {
  readonly name: string;
  readonly unit: string;
  /** The metrics that it is computed from. It is left out if the nodes do not count all of them. */
  readonly needs: readonly string[];
  /** The protocols that have it; undefined for all of them. */
  readonly protocols?: readonly string[];
  /** @param sums of the needed metrics, in their order */
  of(sums: readonly number[], round: RoundSample): number | undefined;
}

const event = (name: string): string => metricKey('isochron_events_total', [['event', name]]);
const bytes = (kind: string, scope: string): string =>
  metricKey('isochron_sent_bytes_total', [
    ['kind', kind],
    ['scope', scope],
  ]);
const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
const perOperation = (values: readonly number[], { counted }: RoundSample): number => sum(values) / counted.operations;
const perSecond = (values: readonly number[], { counted }: RoundSample): number => (sum(values) * 1000) / counted.ms;
const ratio = (part: number, whole: number): number | undefined => (whole === 0 ? undefined : part / whole);
/** The share of the first among all. */
const share = (values: readonly number[]): number | undefined => ratio(values[0]! * 100, sum(values));

const BLOCKED = 'isochron_blocked_reads_total';
const BLOCKED_SECONDS = 'isochron_blocked_read_seconds_total';
const BLOCKED_WRITES = 'isochron_blocked_writes_total';
const REPLICATION = [bytes('replication', 'region'), bytes('replication', 'wan')];
const STABILISATION = [bytes('stabilization', 'region'), bytes('stabilization', 'wan')];

/** The protocols whose updates carry their dependencies. */
const DEPENDENCY_TRACKING: readonly ProtocolName[] = ['orbe', 'orbe-clock', 'orbe-cleaning', 'cops-gt', 'cc-lo'];

/** All that a report shows beside throughput and latency. */
export const MEASURES: readonly Measure[] = [
  { name: 'blocked reads', unit: 'per operation', needs: [BLOCKED], of: perOperation },
  {
    name: 'mean block',
    unit: 'ms',
    needs: [BLOCKED_SECONDS, BLOCKED],
    of: ([seconds, reads]) => ratio(seconds! * 1000, reads!),
  },
  { name: 'blocked writes', unit: 'per operation', needs: [BLOCKED_WRITES], of: perOperation },
  {
    name: 'mean block of writes',
    unit: 'ms',
    needs: ['isochron_blocked_write_seconds_total', BLOCKED_WRITES],
    of: ([seconds, writes]) => ratio(seconds! * 1000, writes!),
  },
  { name: 'messages', unit: 'per operation', needs: [event('sentMessages')], of: perOperation },
  { name: 'bytes', unit: 'per operation', needs: [event('sentBytes')], of: perOperation },
  { name: 'replication bytes', unit: 'per operation', needs: REPLICATION, of: perOperation },
  { name: 'stabilisation bytes', unit: 'per second', needs: STABILISATION, of: perSecond },
  {
    name: 'stabilisation messages',
    unit: 'per second',
    needs: [event('up'), event('root'), event('down')],
    of: perSecond,
  },
  { name: 'replication share', unit: '%', needs: [sumOf(REPLICATION), ...STABILISATION], of: share },
  {
    name: 'stabilisation share in regions',
    unit: '%',
    needs: [STABILISATION[0]!, STABILISATION[1]!, sumOf(REPLICATION)],
    of: share,
  },
  {
    name: 'stabilisation share between regions',
    unit: '%',
    needs: [STABILISATION[1]!, STABILISATION[0]!, sumOf(REPLICATION)],
    of: share,
  },
  {
    name: 'metadata',
    unit: 'bytes per update',
    needs: ['isochron_metadata_bytes_total', 'isochron_replicated_updates_total'],
    of: ([all, updates]) => ratio(all!, updates!),
  },
  {
    name: 'metadata share',
    unit: '% of replication',
    needs: ['isochron_metadata_bytes_total', sumOf(REPLICATION)],
    of: ([metadata, all]) => ratio(metadata! * 100, all!),
  },
  {
    name: 'ROT ids',
    unit: 'per readers check',
    needs: [event('readersCheckIds'), event('readersChecks')],
    protocols: ['cc-lo'],
    of: ([ids, checks]) => ratio(ids!, checks!),
  },
  {
    name: 'dependencies',
    unit: 'per update',
    needs: [event('dependencies'), 'isochron_replicated_updates_total'],
    protocols: DEPENDENCY_TRACKING,
    of: ([all, updates]) => ratio(all!, updates!),
  },
  {
    name: 'dependency checks',
    unit: 'per update',
    needs: [event('dependencyChecks'), 'isochron_replicated_updates_total'],
    protocols: DEPENDENCY_TRACKING,
    of: ([all, updates]) => ratio(all!, updates!),
  },
];

/** The sum of several metrics, as one metric of a measure. */
function sumOf(metrics: readonly string[]): string {
  return metrics.join(' + ');
}

const partsOf = (need: string): string[] => need.split(' + ');

/** Every metric that some measure needs. */
export const neededMetrics = (): string[] =>
  [...new Set(MEASURES.flatMap(({ needs }) => needs.flatMap(partsOf)))].sort();

/** The value of a measure in a round; undefined if the nodes do not count a metric that it needs. */
export function measured(measure: Measure, round: RoundSample): number | undefined {
  const sums = measure.needs.map((need) => countOf(need, round));
  return sums.every((value) => value !== undefined) ? measure.of(sums, round) : undefined;
}

function countOf(need: string, { counts }: RoundSample): number | undefined {
  const parts = partsOf(need).map((name) => counts[name]);
  return parts.every((part) => part !== undefined) ? sum(parts) : undefined;
}

/** The measure of this name. @throws Error if it does not exist */
export function measureNamed(name: string): Measure {
  const found = MEASURES.find((measure) => measure.name === name);
  if (found === undefined) throw new Error(`there is no measure "${name}"`);
  return found;
}

/** Metrics that a measure of these protocols needs and no round has. */
export function missingMetrics(rounds: readonly RoundSample[], protocols: ReadonlySet<string>): string[] {
  const asked = MEASURES.filter((measure) => measure.protocols?.some((name) => protocols.has(name)) ?? true);
  const needed = new Set(asked.flatMap(({ needs }) => needs.flatMap(partsOf)));
  return [...needed].filter((name) => !rounds.some(({ counts }) => name in counts)).sort();
}
