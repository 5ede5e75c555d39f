/** `isochron drain`. */
import { IsochronError } from '@isochron/core/errors';
import { type Static, Type } from '@sinclair/typebox';
import type { EndpointOptions } from '../data/client.js';
import { UsageError } from '../failures.js';
import { print } from '../output.js';
import { anotherNode, ask, askCluster, nodesOf } from '../status/collect.js';
import { Name, reader } from '../status/shape.js';

/** Longer than a node takes to leave, ms. */
const TIMEOUT_MS = 20_000;

const DrainedSchema = Type.Object({
  node: Name,
  member: Type.Boolean(),
  why: Type.Union([Type.String(), Type.Null()]),
});
const isDrained = reader(DrainedSchema);

/** Why a node stays a member, and what the operator can do. */
const REASONS: Readonly<Record<string, string>> = {
  'only-replica': 'no other member has a replica of one of its partitions; bring back the nodes that are away first',
  'another-leaves': 'another node leaves at this moment; repeat the command',
  late: 'its transactions did not become stable in time; look at "isochron status" and repeat the command',
  returns: 'it was asked to become a member again',
  'no-members': 'the protocol of the cluster has no members to leave: stop the node',
};

/** Options of `isochron drain`. */
export interface DrainOptions extends EndpointOptions {
  readonly end: boolean;
  readonly json: boolean;
}

/** Lets a node leave the members, or come back. */
export async function runDrain(id: string, options: DrainOptions): Promise<void> {
  const { end, json } = options;
  const nodes = nodesOf(await askCluster(options));
  const node = nodes.find((one) => one.node === id);
  if (node === undefined) {
    const known = nodes.map((one) => one.node).join(', ');
    throw new UsageError(`the cluster has no node "${id}"; its nodes are ${known}`);
  }
  const body = end ? { end } : {};
  const answer = await ask(node.api, options, { path: '/v1/drain', body, timeoutMs: TIMEOUT_MS }, isDrained);
  if (answer.node !== id) throw new IsochronError('CONNECTION_LOST', anotherNode(answer.node));
  if (json) print(JSON.stringify(answer));
  if (end ? answer.why !== 'returns' : answer.member) throw new IsochronError('NOT_READY', staying(id, answer));
  if (json) return;
  if (end) print(`${id} becomes a member again as soon as it has what it lacks: see isochron status`);
  else print(`${id} has left the members: stop it, or bring it back with isochron drain ${id} --end`);
}

const staying = (id: string, { why }: Static<typeof DrainedSchema>): string =>
  `${id} stays a member: ${REASONS[why ?? ''] ?? why}`;
