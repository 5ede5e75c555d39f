/** `isochron nodes`. */
import { IsochronError } from '@isochron/core/errors';
import { Type } from '@sinclair/typebox';
import type { EndpointOptions } from '../data/client.js';
import { UsageError } from '../failures.js';
import { print } from '../output.js';
import { anotherNode, ask, askCluster, collect, nodesOf } from '../status/collect.js';
import { Count, Name, reader } from '../status/shape.js';
import { confirm } from './confirm.js';
import { nodeStates } from './states.js';
import { renderNodes } from './table.js';

/** Longer than a node takes to carry an order out, or to give it up, ms. */
const TIMEOUT_MS = 20_000;

const isOrdered = reader(
  Type.Object({
    node: Name,
    map: Count,
    why: Type.Union([Type.String(), Type.Null()]),
    nodes: Type.Array(Name),
  }),
);

/** Why an order is refused, and what the operator can do. */
const REASONS: Readonly<Record<string, (nodes: string) => string>> = {
  away: (nodes) => `no members already: ${nodes}; "isochron nodes hold ${nodes}" keeps them away`,
  held: (nodes) => `held already: ${nodes}; "isochron nodes return ${nodes}" lets them return`,
  'not-held': (nodes) =>
    `not held: ${nodes}; a suspended node returns by itself, a drained node with "isochron drain NODE --end"`,
  member: (nodes) => `only nodes that are away are evicted, and these are members: ${nodes}; suspend them first`,
  evicted: (nodes) => `evicted for ever: ${nodes}`,
  answers: (nodes) =>
    `${nodes} answer, and what they have would be lost: let them return, or stop their processes before the eviction`,
  'no-majority': (nodes) =>
    `no map is decided without a majority of the voters, and these are missing: ${nodes}; bring them back first`,
  silent: (nodes) => `no map is decided while a member does not answer: ${nodes}; suspend them in the same command`,
  'only-replica': (nodes) =>
    `no other member has all of the data of ${nodes}, which would serve no reads and writes; bring back others first`,
  rebuilding: (nodes) =>
    `no map is decided while ${nodes} fill lost disks, now without a part of the evicted nodes; repeat the command`,
  'another-order': () => 'the node that was asked carries out another order; repeat the command',
  late: () => 'no map was decided in time; it may still be: look at "isochron nodes" and repeat the command',
};

/** Options of `isochron nodes`. */
export interface NodesOptions extends EndpointOptions {
  readonly json: boolean;
}

/** Options of an order about nodes. */
export interface OrderOptions extends NodesOptions {
  /** Nothing is asked. */
  readonly yes: boolean;
}

/** What is ordered about nodes. */
export type OrderName = 'suspend' | 'hold' | 'return' | 'evict';

/** Prints every node with its state. */
export async function runNodes(options: NodesOptions): Promise<void> {
  const report = await collect(options);
  const { map, nodes } = nodeStates(report);
  const { cluster } = report;
  if (options.json) {
    const listed = nodes.map(({ sinceMs, ...node }) => ({
      ...node,
      since: sinceMs === null ? null : new Date(sinceMs).toISOString(),
    }));
    print(JSON.stringify({ cluster, map, nodes: listed }));
  } else print(renderNodes(`cluster ${cluster}, map ${map}`, nodes));
}

/** Suspends nodes, keeps nodes away, lets them return or evicts nodes, with consent where data are at stake. */
export async function runOrder(action: OrderName, ids: readonly string[], options: OrderOptions): Promise<void> {
  const { yes, json } = options;
  const answered = await askCluster(options);
  const { cluster } = answered;
  const known = nodesOf(answered);
  const unknown = ids.filter((id) => known.every(({ node }) => node !== id));
  if (unknown.length > 0) {
    const names = known.map(({ node }) => node).join(', ');
    throw new UsageError(`the cluster ${cluster} has no node "${unknown.join('", "')}"; its nodes are ${names}`);
  }
  const names = ids.join(', ');
  if (!yes && action !== 'return') await confirm(questionOf(action, names, cluster), ids.join(' '));
  const { node, api } = known.find((one) => one.node === answered.node.node)!;
  const request = { path: '/v1/nodes', body: { action, nodes: ids }, timeoutMs: TIMEOUT_MS };
  const answer = await ask(api, options, request, isOrdered);
  if (answer.node !== node) throw new IsochronError('CONNECTION_LOST', anotherNode(answer.node));
  if (json) print(JSON.stringify(answer));
  const { why } = answer;
  if (why !== null) throw new IsochronError('NOT_READY', REASONS[why]?.(answer.nodes.join(' ')) ?? why);
  if (!json) print(`${DONE[action](names)} (map ${answer.map})`);
}

function questionOf(action: Exclude<OrderName, 'return'>, names: string, cluster: string): string {
  const nodes = `${names} of the cluster ${cluster} will be`;
  if (action === 'evict')
    return `${nodes} evicted for ever: no node runs under these names again, and what only their disks have is lost`;
  const what = action === 'hold' ? 'kept away' : 'suspended';
  return `${nodes} ${what}: what needs them and is not visible yet becomes visible after their return`;
}

const DONE: Readonly<Record<OrderName, (names: string) => string>> = {
  suspend: (names) => `${names}: suspended; stable time goes on without, and a node that answers returns by itself`,
  hold: (names) => `${names}: kept away until "isochron nodes return"`,
  evict: (names) => `${names}: evicted for ever; "isochron losses" lists the transactions that only they had whole`,
  return: (names) => `${names}: held no longer; a node that answers is a member as soon as it has what it lacks`,
};
