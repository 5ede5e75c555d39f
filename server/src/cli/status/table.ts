/** The status of a cluster as tables for a terminal. */
import { wallOf } from '@isochron/core/hlc';
import Table from 'cli-table3';
import colors from 'picocolors';
import { bytes, count, duration } from '../output.js';
import type { ClusterReport, NodeReport } from './collect.js';
import { type NodeAnswer, newestMap, type StabilityAnswer } from './shape.js';

/** Plain lines: borders in the terminal's own colour. */
export const style = { head: [], border: [] };

/** @param options.partitions also a row for every replica of a partition */
export function renderStatus(report: ClusterReport, options: { readonly partitions: boolean }): string {
  const reachable = report.nodes.filter(({ status }) => status !== null).length;
  const title = `cluster ${report.cluster}, protocol ${report.protocol}, ${reachable} of ${report.nodes.length} nodes answer`;
  const tables = [nodeTable(report), ...(options.partitions ? [partitionTable(report)] : [])];
  const lines = [
    blockingLines,
    verificationLines,
    clockLines,
    readinessLines,
    mapLines,
    protectionLines,
    stalenessLines,
    lossLines,
  ].flatMap((linesOf) => linesOf(report));
  return [title, ...tables, ...lines].join('\n');
}

/** How long reads have waited for their snapshots, under protocols whose reads block. */
function blockingLines({ nodes }: ClusterReport): string[] {
  const waits = nodes.flatMap(({ status }) => status?.blocking ?? []).filter(({ reads }) => reads > 0);
  if (waits.length === 0) return [];
  const reads = waits.reduce((sum, wait) => sum + wait.reads, 0);
  const averageMs = waits.reduce((sum, wait) => sum + wait.totalMs, 0) / reads;
  const longestMs = Math.max(...waits.map((wait) => wait.longestMs));
  return [
    `${count(reads)} reads waited for their snapshots, ${averageMs.toFixed(1)} ms on average, ${longestMs} ms at most`,
  ];
}

/** How many losses no operator has acknowledged: the highest count of all nodes, as several report the same losses. */
function lossLines({ nodes }: ClusterReport): string[] {
  const open = Math.max(0, ...nodes.map(({ status }) => status?.losses?.open ?? 0));
  if (open === 0) return [];
  return [colors.red(`a lost disk took a part of ${count(open)} transactions or more: isochron losses`)];
}

/** The nodes whose disks are not verified since the start, and the peers that have not reported. */
function verificationLines({ nodes }: ClusterReport): string[] {
  return nodes.flatMap(({ node, status }) => {
    const { state = 'verified', missing = [], timedOut = false } = status?.verification ?? {};
    if (state === 'verified') return [];
    const waits = `no report from ${missing.join(', ')} since the start`;
    if (state === 'verifying') return [`${node} verifies its disk and takes no writes: ${waits}`];
    const line = `${node} is unverified: ${waits}`;
    return [
      timedOut ? colors.red(`${line}; if its disk was rolled back, writes that it acknowledges may be lost`) : line,
    ];
  });
}

/** Nodes that take no writes because of their clocks. */
const clockLines = ({ nodes }: ClusterReport): string[] =>
  nodes.flatMap(({ node, status }) => {
    const problem = status?.clock?.problem ?? null;
    return problem === null ? [] : [colors.red(`${node} takes no writes: ${printable(problem)}`)];
  });

/** Nodes that are not ready, except for stale snapshots, which concern all nodes. */
const readinessLines = ({ nodes }: ClusterReport): string[] =>
  nodes.flatMap(({ node, unready }) => {
    const reasons = unready.filter(({ check }) => check !== 'stable-time').map(({ reason }) => printable(reason));
    return reasons.length === 0 ? [] : [colors.red(`${node} is ${reasons.join('; ')}`)];
  });

/** Nodes that are no members: stable time goes on without them. */
function mapLines({ nodes }: ClusterReport): string[] {
  const maps = nodes.flatMap(({ status }) => status?.map ?? []);
  const newest = newestMap(maps);
  if (newest === undefined) return [];
  const { away, suspended, held, evicted, absences } = newest;
  const free = away.filter((id) => !held.includes(id) && !evicted.includes(id));
  const isOrdered = (id: string) => absences.some((one) => one.node === id && one.isOrdered);
  const goesOn = 'stable time goes on without';
  const returns = `${goesOn}; a node that starts again comes back by itself`;
  const line = (ids: readonly string[], why: string) => (ids.length === 0 ? [] : [`${ids.join(', ')} ${why}`]);
  const deferred = maps.reduce((sum, map) => sum + map.deferred, 0);
  const left = free.filter((id) => !suspended.includes(id));
  const gone = free.filter((id) => suspended.includes(id));
  return [
    ...line(left, `left the members in order: ${returns}`),
    ...line(
      gone.filter((id) => !isOrdered(id)),
      `did not answer and is suspended: ${returns}`,
    ),
    ...line(gone.filter(isOrdered), `is suspended by an operator: ${returns}`),
    ...line(evicted, 'is evicted for ever, and may be taken out of the monitoring'),
    ...line(held, `is kept away by an operator: ${goesOn} until "isochron nodes return"`),
    ...(deferred === 0 ? [] : [`${deferred} parts of transactions that need a suspended node wait for its return`]),
  ];
}

/** Nodes whose rules or credentials differ from those of the most: a change that has not reached all nodes. */
function protectionLines({ nodes }: ClusterReport): string[] {
  const parts = [
    ['rules', 'the access rules'],
    ['users', 'the credentials'],
  ] as const;
  return parts.flatMap(([part, what]) => {
    const bare = nodes.filter(({ status }) => status?.protection?.[part].missing).map(({ node }) => node);
    if (bare.length > 0) return [colors.red(`${bare.join(', ')} has not ${what} of the others, and serves no client`)];
    const known = nodes.flatMap(({ node, status }) => {
      const own = status?.protection?.[part];
      return own === undefined ? [] : [{ node, hash: own.hash }];
    });
    const hashes = new Set(known.map(({ hash }) => hash));
    if (hashes.size < 2) return [];
    const of = (hash: string | null) => known.filter((one) => one.hash === hash).map(({ node }) => node);
    const groups = [...hashes].map((hash) => `${of(hash).join(', ')}: ${hash?.slice(0, 8) ?? 'none'}`);
    return [colors.yellow(`${what} differ (${groups.join('; ')})`)];
  });
}

/** The node that holds stable time back, where it is stale. */
function stalenessLines({ nodes }: ClusterReport): string[] {
  const stale = nodes.flatMap(({ node, stability }) => (stability?.stale ? [{ at: node, ...stability }] : []));
  if (stale.length === 0) return [];
  const { stalenessMs, alertMs } = stale.reduce((a, b) => (b.stalenessMs > a.stalenessMs ? b : a));
  const first = `snapshots are ${duration(stalenessMs)} old, more than the alert allows (${duration(alertMs)})`;
  return [
    `${colors.red(first)}: ${whoHoldsBack(stale)}`,
    'Reads and writes go on; writes of other regions are not visible yet.',
  ];
}

type StaleNode = StabilityAnswer & { readonly at: string };

/** By the replica that lacks most; where all that answer have everything, the nodes that are unreachable. */
function whoHoldsBack(stale: readonly StaleNode[]): string {
  const lacking = stale.flatMap(({ at, alertMs, lowest }) =>
    lowest !== null && lowest.ageMs > alertMs ? [{ at, ...lowest }] : [],
  );
  const [worst] = lacking.sort((a, b) => a.timestamp - b.timestamp);
  if (worst !== undefined) {
    const { region, node, partition, at, ageMs } = worst;
    return `${at} has had nothing from ${nameOf(region, node)} in ${partition} for ${duration(ageMs)}`;
  }
  const suspect = stale.find(({ heldBackBy }) => heldBackBy !== null)?.heldBackBy;
  return suspect == null
    ? 'no node that answers reports a cause'
    : `${nameOf(suspect.region, suspect.node)} cannot be reached`;
}

const nameOf = (region: string, node: string | null): string => (node === null ? region : `${region} (${node})`);

function nodeTable({ nodes }: ClusterReport): string {
  const table = new Table({
    head: [
      'region',
      'node',
      'UST',
      'staleness',
      'partitions',
      'keys',
      'versions',
      'prep.',
      'comm.',
      'open tx',
      'links',
      'memory',
      'up',
    ],
    style,
  });
  for (const node of nodes) table.push(node.status === null ? unreachableRow(node) : nodeRow(node, node.status));
  return table.toString();
}

const unreachableRow = ({ region, node, error }: NodeReport) => [
  region,
  node,
  { colSpan: 11, content: colors.red(`unreachable: ${printable(error ?? '')}`) },
];

function nodeRow({ region, node, stability }: NodeReport, status: NodeAnswer) {
  const sum = (field: 'keys' | 'versions' | 'prepared' | 'committed') =>
    count(status.partitions.reduce((total, partition) => total + partition[field], 0));
  return [
    region,
    node,
    status.ust === 0 ? '-' : timeOf(status.ust),
    stability?.stale ? colors.red(staleness(status)) : staleness(status),
    status.partitions.length,
    sum('keys'),
    sum('versions'),
    sum('prepared'),
    sum('committed'),
    status.openTransactions,
    status.links.map(linkText).join('\n'),
    bytes(status.rssBytes),
    duration(status.uptimeMs),
  ];
}

const timeOf = (ust: number): string => new Date(wallOf(ust)).toISOString().slice(11, 23);

/** Before the first UST there is no age. */
const staleness = ({ ust, stalenessMs }: NodeAnswer): string => (ust === 0 ? '-' : `${Math.round(stalenessMs)} ms`);

function linkText({ node, up, rttMs, lastError }: NodeAnswer['links'][number]): string {
  if (!up) return colors.red(`${node} down${lastError === null ? '' : ` (${printable(lastError)})`}`);
  return `${node} ${rttMs === null ? 'up' : `${rttMs < 10 ? rttMs.toFixed(1) : Math.round(rttMs)} ms`}`;
}

function partitionTable({ nodes }: ClusterReport): string {
  const table = new Table({
    head: ['region', 'node', 'partition', 'replicas in', 'keys', 'versions', 'prepared', 'committed'],
    style,
  });
  for (const { region, node, status } of nodes) {
    for (const { partition, regions, keys, versions, prepared, committed } of status?.partitions ?? []) {
      table.push([region, node, partition, regions.join(', '), count(keys), count(versions), prepared, committed]);
    }
  }
  return table.toString();
}

/** A text from outside, without control characters and at most a line long. */
export const printable = (text: string): string => text.replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, 100);
