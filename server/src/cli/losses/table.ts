/** Losses as a table for a terminal. */
import { wallOf } from '@isochron/core/hlc';
import Table from 'cli-table3';
import { printable, style } from '../status/table.js';
import type { ClusterLoss } from './collect.js';

/** Number of keys shown for a loss; `--json` has all of them. */
const SHOWN_KEYS = 5;

export function renderLosses(losses: readonly ClusterLoss[]): string {
  const open = losses.filter(({ acknowledged }) => !acknowledged).length;
  if (losses.length === 0) return 'no losses';
  const table = new Table({ head: ['transaction', 'committed at', 'lost disk of', 'keys', 'state'], style });
  for (const loss of losses) {
    const { transaction, lostDisks, keys } = loss;
    table.push([transaction, timeOf(loss), lostDisks.join('\n'), keyLines(keys), stateOf(loss)]);
  }
  return [table.toString(), `${open} of ${losses.length} losses are not acknowledged`].join('\n');
}

const timeOf = ({ timestamp, committed }: ClusterLoss): string =>
  `${new Date(wallOf(timestamp)).toISOString()}${committed ? '' : ' (proposed)'}`;

function keyLines(keys: ClusterLoss['keys']): string {
  if (keys.length === 0) return 'unknown';
  const shown = keys.slice(0, SHOWN_KEYS).map(({ keyspace, key }) => printable(`${keyspace}/${key}`));
  const more = keys.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('\n');
}

function stateOf({ committed, takenBack, acknowledged }: ClusterLoss): string {
  const state = `${committed ? 'committed' : 'undecided'}, ${takenBack ? 'taken back' : 'part is gone'}`;
  return acknowledged ? `${state}\n(acknowledged)` : state;
}
