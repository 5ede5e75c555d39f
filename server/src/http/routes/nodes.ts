/** The nodes of the cluster: an operator suspends members at once, keeps nodes away, lets them return, evicts nodes. */
import { IsochronError } from '@isochron/core';
import { type Static, Type } from '@sinclair/typebox';
import type { RouteContext } from '../context.js';
import { json, PLAIN_HEADERS } from '../documentation/openapi.js';
import { named } from '../documentation/schemas.js';
import type { Route } from './route.js';

const OrderBody = named('NodesRequest', {
  action: Type.Union([
    Type.Literal('suspend', { description: 'stable time goes on without the members; they return by themselves' }),
    Type.Literal('hold', { description: 'as `suspend` for members; the nodes stay away until `return`' }),
    Type.Literal('return', { description: 'held nodes become members as soon as they have what they lack' }),
    Type.Literal('evict', {
      description: 'the cluster goes on without the nodes for ever; what they alone had is lost, and listed as a loss',
    }),
  ]),
  nodes: Type.Array(Type.String({ maxLength: 128 }), { minItems: 1, maxItems: 1000 }),
});
const OrderAnswer = named('NodesAnswer', {
  node: Type.String({ description: 'the node that answers' }),
  map: Type.Integer({ description: 'version of its map' }),
  why: Type.Union(
    [
      Type.Literal('away', { description: 'the nodes are no members already' }),
      Type.Literal('held', { description: 'the nodes are held already' }),
      Type.Literal('not-held', { description: 'the nodes are not held' }),
      Type.Literal('member', { description: 'the nodes are members, and only nodes that are away are evicted' }),
      Type.Literal('evicted', { description: 'the nodes are evicted, and never come back' }),
      Type.Literal('answers', { description: 'the nodes answer: what they have would be lost with an eviction' }),
      Type.Literal('no-majority', { description: 'without the nodes there is no majority of the voters' }),
      Type.Literal('silent', { description: 'the nodes do not answer, and would stay members' }),
      Type.Literal('only-replica', { description: 'the nodes answer, and no other member has all of their data' }),
      Type.Literal('rebuilding', { description: 'the nodes fill lost disks, and decide no map before they have' }),
      Type.Literal('another-order', { description: 'the node that answers carries out another order' }),
      Type.Literal('late', { description: 'no map was decided in time; it may still be' }),
      Type.Null(),
    ],
    { description: 'why nothing was done; null if a map has carried the order out' },
  ),
  nodes: Type.Array(Type.String(), { description: 'the nodes that are the reason' }),
});

/** An operator's order about nodes. */
export const NODES_ROUTE: Route<RouteContext> = {
  tag: 'operations',
  access: 'operate',
  needs: 'stable-snapshots',
  observes: true,
  errors: [],
  method: 'POST',
  path: '/v1/nodes',
  id: 'orderNodes',
  summary: 'Suspends nodes at once, keeps them away, lets them return, or evicts nodes for ever',
  body: OrderBody,
  answers: { 200: json(OrderAnswer, 'a map has carried the order out, or none does', PLAIN_HEADERS) },
  handle: async ({ api }, request, reply) => {
    const { node, log } = api;
    const { action, nodes } = request.body as Static<typeof OrderBody>;
    const { why = null, nodes: reason } = await node.orders!.order(action, nodes);
    if (why === 'unknown-node') {
      const { cluster } = node.config;
      const known = node.topology.nodes.join(', ');
      const unknown = reason.map((id) => JSON.stringify(id)).join(', ');
      throw new IsochronError('INVALID_REQUEST', `The cluster ${cluster} has no node ${unknown}; it has ${known}.`);
    }
    log.warn({ action, nodes, why, reason }, 'an operator orders something about nodes');
    api.sendJson(reply, JSON.stringify({ node: node.id, map: node.map(), why, nodes: reason }));
  },
};
