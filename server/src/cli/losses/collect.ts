/** Asks every node of a cluster for its losses, and merges the answers. */
import type { EndpointOptions } from '../data/client.js';
import {
  type Access,
  anotherNode,
  ask,
  askCluster,
  type NodeReport,
  type NodeRequest,
  nodesOf,
} from '../status/collect.js';
import { isAcknowledged, isLosses, type LossAnswer } from './shape.js';

/** One node that was asked: its answer, or the reason why there is none. */
export interface Asked<T> {
  readonly region: string;
  readonly node: string;
  readonly answer: T | null;
  readonly error: string | null;
}

/** A loss, merged from the answers of all nodes. */
export interface ClusterLoss extends Omit<LossAnswer, 'node'> {
  /** Nodes whose disks were lost. */
  readonly lostDisks: readonly string[];
  /** Nodes that report it. */
  readonly reportedBy: readonly string[];
}

/** The most that a node lists. */
const LIMIT = 10_000;

/** @throws IsochronError when none of the endpoints answers */
export function collectLosses(options: EndpointOptions) {
  return askAll(options, { path: `/v1/losses?all=true&limit=${LIMIT}` }, isLosses);
}

/**
 * Acknowledges losses on every node.
 * @throws IsochronError when none of the endpoints answers
 */
export function acknowledgeLosses(options: EndpointOptions, transactions: readonly string[] | 'all') {
  const body = transactions === 'all' ? { all: true } : { transactions };
  return askAll(options, { path: '/v1/losses/acknowledge', body }, isAcknowledged);
}

async function askAll<T extends { readonly node: string }>(
  options: EndpointOptions,
  request: NodeRequest,
  isAnswer: (answer: unknown) => answer is T,
): Promise<Asked<T>[]> {
  const nodes = nodesOf(await askCluster(options));
  return Promise.all(nodes.map((node) => askOne(node, options, request, isAnswer)));
}

async function askOne<T extends { readonly node: string }>(
  { region, node, api }: Pick<NodeReport, 'region' | 'node' | 'api'>,
  access: Access,
  request: NodeRequest,
  isAnswer: (answer: unknown) => answer is T,
): Promise<Asked<T>> {
  try {
    const answer = await ask(api, access, request, isAnswer);
    if (answer.node === node) return { region, node, answer, error: null };
    return { region, node, answer: null, error: anotherNode(answer.node) };
  } catch (error) {
    return { region, node, answer: null, error: error instanceof Error ? error.message : String(error) };
  }
}

/** The union by transaction, newest first. Open where it is open on any node; kept where any node kept a part. */
export function unionOf(
  answers: readonly { readonly node: string; readonly losses: readonly LossAnswer[] }[],
): ClusterLoss[] {
  const union = new Map<string, ClusterLoss>();
  for (const { node: reporter, losses } of answers) {
    for (const { node, ...loss } of losses) {
      const one: ClusterLoss = { ...loss, lostDisks: [node], reportedBy: [reporter] };
      const known = union.get(loss.transaction);
      union.set(loss.transaction, known === undefined ? one : together(known, one));
    }
  }
  return [...union.values()].sort((a, b) => b.timestamp - a.timestamp || (a.transaction < b.transaction ? -1 : 1));
}

function together(a: ClusterLoss, b: ClusterLoss): ClusterLoss {
  const committed = [a, b].find((loss) => loss.committed);
  return {
    transaction: a.transaction,
    timestamp: committed?.timestamp ?? Math.max(a.timestamp, b.timestamp),
    committed: committed !== undefined,
    takenBack: a.takenBack && b.takenBack,
    lostDisks: distinct([...a.lostDisks, ...b.lostDisks], (node) => node),
    partitions: distinct([...a.partitions, ...b.partitions], (partition) => partition),
    keys: distinct([...a.keys, ...b.keys], ({ keyspace, key }) => `${keyspace}/${key}`),
    acknowledged: a.acknowledged && b.acknowledged,
    reportedBy: distinct([...a.reportedBy, ...b.reportedBy], (node) => node),
  };
}

const distinct = <T>(all: readonly T[], nameOf: (one: T) => string): T[] => [
  ...new Map(all.map((one) => [nameOf(one), one])).values(),
];
