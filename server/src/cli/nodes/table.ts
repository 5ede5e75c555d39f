/** The nodes of a cluster as a table for a terminal. */
import Table from 'cli-table3';
import colors from 'picocolors';
import { count } from '../output.js';
import { style } from '../status/table.js';
import type { ListedNode, MemberState } from './states.js';

/** States that an operator looks at. */
const RED: ReadonlySet<MemberState> = new Set(['suspended', 'suspected', 'unknown']);
const YELLOW: ReadonlySet<MemberState> = new Set(['held', 'left', 'leaving', 'returning', 'owing']);

/** @param title the line above the table */
export function renderNodes(title: string, nodes: readonly ListedNode[]): string {
  const head = ['region', 'node', 'state', 'since (UTC)', 'why', 'deferred here', 'for it'];
  const table = new Table({ head, style });
  for (const { region, node, state, sinceMs, why, deferredHere, deferredFor } of nodes)
    table.push([
      region,
      node,
      colored(state),
      sinceMs === null ? '' : timeOf(sinceMs),
      why,
      deferredHere === null ? '-' : count(deferredHere),
      count(deferredFor),
    ]);
  return `${title}\n${table.toString()}`;
}

function colored(state: MemberState): string {
  if (RED.has(state)) return colors.red(state);
  return YELLOW.has(state) ? colors.yellow(state) : state;
}

const timeOf = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
