/** `isochron losses`. */
import { IsochronError } from '@isochron/core/errors';
import { isTxId } from '@isochron/core/ids';
import type { EndpointOptions } from '../data/client.js';
import { UsageError } from '../failures.js';
import { print, remark } from '../output.js';
import { printable } from '../status/table.js';
import { type Asked, acknowledgeLosses, collectLosses, unionOf } from './collect.js';
import { renderLosses } from './table.js';

/** Options of `isochron losses`. */
export interface LossesOptions extends EndpointOptions {
  /** True when no ids are given. */
  readonly acknowledge?: true | readonly string[];
  readonly all: boolean;
  readonly json: boolean;
}

/** Lists losses, or acknowledges them. */
export async function runLosses(options: LossesOptions): Promise<void> {
  const { acknowledge } = options;
  if (acknowledge === undefined) await list(options);
  else await acknowledgeThem(options, whichOf(acknowledge, options.all));
}

function whichOf(ids: true | readonly string[], all: boolean): readonly string[] | 'all' {
  if (ids === true) {
    if (all) return 'all';
    throw new UsageError('give the transactions that --acknowledge is for, or --all');
  }
  if (all) throw new UsageError('give either transactions or --all');
  const wrong = ids.find((id) => !isTxId(id));
  if (wrong !== undefined) throw new UsageError(`"${wrong}" is no transaction id`);
  return ids;
}

async function list(options: LossesOptions): Promise<void> {
  const nodes = await collectLosses(options);
  const losses = unionOf(nodes.flatMap(({ answer }) => answer ?? [])).filter(
    (loss) => options.all || !loss.acknowledged,
  );
  if (options.json) print(JSON.stringify({ nodes: nodes.map(withoutAnswer), losses }));
  else print(renderLosses(losses));
  for (const line of unanswered(nodes)) remark(line);
}

async function acknowledgeThem(options: LossesOptions, transactions: readonly string[] | 'all'): Promise<void> {
  const nodes = await acknowledgeLosses(options, transactions);
  if (options.json) {
    const results = nodes.map(({ answer, ...node }) => ({
      ...node,
      acknowledged: answer?.acknowledged ?? null,
      open: answer?.open ?? null,
    }));
    print(JSON.stringify({ nodes: results }));
  } else {
    for (const { node, answer } of nodes) {
      if (answer !== null) print(`${node}: ${answer.acknowledged} acknowledged, ${answer.open} left`);
    }
  }
  for (const line of unanswered(nodes)) remark(line);
  const missing = nodes.filter(({ answer }) => answer === null);
  if (missing.length === 0) return;
  const names = missing.map(({ node }) => node).join(', ');
  throw new IsochronError('CONNECTION_LOST', `${names} acknowledged nothing; repeat the command when they answer`);
}

const withoutAnswer = ({ region, node, error }: Asked<unknown>) => ({ region, node, error });

/** Nodes that did not answer may have more losses. */
const unanswered = (nodes: readonly Asked<unknown>[]): string[] =>
  nodes.flatMap(({ node, error }) => (error === null ? [] : [`${node} does not answer: ${printable(error)}`]));
