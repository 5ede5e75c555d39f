/** The status of a cluster as tables for a terminal. */
import { wallOf } from '@isochron/core/hlc';
import Table from 'cli-table3';
import colors from 'picocolors';
import { bytes, count, duration } from '../output.js';
import type { ClusterReport, NodeReport } from './collect.js';
import type { NodeAnswer } from './shape.js';

/** Plain lines: borders in the terminal's own colour. */
const style = { head: [], border: [] };

/** @param options.partitions also a row for every replica of a partition */
export function renderStatus(report: ClusterReport, options: { readonly partitions: boolean }): string {
  const reachable = report.nodes.filter(({ status }) => status !== null).length;
  const title = `cluster ${report.cluster}, protocol ${report.protocol}, ${reachable} of ${report.nodes.length} nodes answer`;
  const tables = [nodeTable(report), ...(options.partitions ? [partitionTable(report)] : [])];
  return [title, ...tables].join('\n');
}

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

function nodeRow({ region, node }: NodeReport, status: NodeAnswer) {
  const sum = (field: 'keys' | 'versions' | 'prepared' | 'committed') =>
    count(status.partitions.reduce((total, partition) => total + partition[field], 0));
  return [
    region,
    node,
    status.ust === 0 ? '-' : timeOf(status.ust),
    staleness(status),
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

/** Without a UST there is no age of it. */
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

/** A text of somebody else's without what would control the terminal, and not longer than a line. */
const printable = (text: string): string => text.replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, 100);
