/** The members that stable time waits for: a node leaves them before it is stopped, in order. */
import { type Static, Type } from '@sinclair/typebox';
import type { RouteContext } from '../context.js';
import { json, PLAIN_HEADERS } from '../documentation/openapi.js';
import { named } from '../documentation/schemas.js';
import type { Route } from './route.js';

/** Longest time for which the node may refuse prepares until it has left, ms. */
const LEAVE_TIMEOUT_MS = 15_000;

const DrainBody = named('DrainRequest', {
  end: Type.Optional(Type.Literal(true, { description: 'become a member again' })),
});
const DrainAnswer = named('DrainAnswer', {
  node: Type.String({ description: 'the node that answers' }),
  member: Type.Boolean({ description: 'whether stable time waits for the node' }),
  why: Type.Union(
    [
      Type.Literal('only-replica', { description: 'no other member has a replica of one of its partitions' }),
      Type.Literal('another-leaves', { description: 'another node leaves at this moment' }),
      Type.Literal('late', { description: 'transactions of the node did not become stable in time' }),
      Type.Literal('returns', { description: 'the node was asked to become a member again' }),
      Type.Literal('no-members', { description: 'the protocol of the cluster has no members' }),
      Type.Null(),
    ],
    { description: 'why the node stays a member; null if it has left' },
  ),
});

/** A node leaves the members, or comes back. */
export const DRAIN_ROUTE: Route<RouteContext> = {
  tag: 'operations',
  access: 'operate',
  observes: true,
  errors: [],
  method: 'POST',
  path: '/v1/drain',
  id: 'drain',
  summary: 'Lets the node leave the members, so that stable time goes on once it is stopped; or lets it come back',
  body: DrainBody,
  answers: { 200: json(DrainAnswer, 'the node has left, or stays a member', PLAIN_HEADERS) },
  handle: async ({ api }, request, reply) => {
    const { node } = api;
    const { end } = request.body as Static<typeof DrainBody>;
    if (end) node.comeBack();
    const why = end ? 'returns' : ((await node.leave(LEAVE_TIMEOUT_MS)) ?? null);
    api.sendJson(reply, JSON.stringify({ node: node.id, member: why !== null, why }));
  },
};
