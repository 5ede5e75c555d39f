/** Losses by lost disks (D10), and their acknowledgement by operators. */
import { IsochronError, type TxId, unqualify, wallOf } from '@isochron/core';
import type { Loss } from '@isochron/protocols';
import { clientTxId } from '@isochron/sessions';
import { type Static, Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RunningNode } from '../../node/api.js';
import type { ApiContext, RouteContext } from '../context.js';
import { json, PLAIN_HEADERS } from '../documentation/openapi.js';
import { KeyRef, named, object } from '../documentation/schemas.js';
import type { Route } from './route.js';

const DEFAULT_LIMIT = 1000;
/** Number of losses in `/v1/cluster`. */
const NEWEST = 5;

const LossesQuery = object({
  all: Type.Optional(Type.Boolean({ default: false, description: 'also those that are acknowledged' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, default: 1000 })),
});
/** A loss as the API shows it. */
export const LossSchema = named('Loss', {
  transaction: Type.String(),
  timestamp: Type.Integer({ description: 'commit timestamp; highest proposal where it is not `committed`' }),
  time: Type.String({ format: 'date-time', description: 'the same as a time' }),
  attempt: Type.Integer(),
  committed: Type.Boolean({
    description: 'a node that is left had committed it; else it may have been acknowledged or not',
  }),
  takenBack: Type.Boolean({ description: 'the remaining part was removed: none of its writes is visible' }),
  node: Type.String({ description: 'whose disk was lost' }),
  partitions: Type.Array(Type.String(), { description: 'where its writes are gone' }),
  keys: Type.Array(KeyRef, { description: 'its keys, as far as the remaining nodes have them' }),
  acknowledged: Type.Boolean({ description: 'by an operator' }),
});
const LossesAnswer = named('Losses', {
  node: Type.String({ description: 'the node that answers' }),
  open: Type.Integer({ description: 'losses that are not acknowledged' }),
  losses: Type.Array(LossSchema),
});
/** Exactly one of the two fields. */
const AcknowledgeBody = named('AcknowledgeRequest', {
  transactions: Type.Optional(Type.Array(Type.String({ maxLength: 128 }), { minItems: 1, maxItems: 10_000 })),
  all: Type.Optional(Type.Literal(true)),
});
const AcknowledgeAnswer = named('AcknowledgeAnswer', {
  node: Type.String({ description: 'the node that answers' }),
  acknowledged: Type.Integer({ description: 'how many were open' }),
  open: Type.Integer({ description: 'how many are left' }),
});

const common = { tag: 'operations', access: 'operate', observes: true, errors: [] } as const;

/** Losses by lost disks, for operators. */
export const LOSS_ROUTES: readonly Route<RouteContext>[] = [
  {
    ...common,
    method: 'GET',
    path: '/v1/losses',
    id: 'getLosses',
    summary: 'Transactions of which a lost disk took a part, as this node has recorded them, newest first',
    query: LossesQuery,
    answers: { 200: json(LossesAnswer, 'the losses', PLAIN_HEADERS) },
    handle: ({ api }, request, reply) => {
      const { all = false, limit = DEFAULT_LIMIT } = request.query as Static<typeof LossesQuery>;
      api.sendJson(reply, JSON.stringify(listed(api.node, all, limit)));
    },
  },
  {
    ...common,
    method: 'POST',
    path: '/v1/losses/acknowledge',
    id: 'acknowledgeLosses',
    summary: 'Acknowledges losses on this node: they are not reported as open any more',
    body: AcknowledgeBody,
    answers: { 200: json(AcknowledgeAnswer, 'acknowledged, durably', PLAIN_HEADERS) },
    handle: ({ api }, request, reply) => acknowledgeLosses(api, request, reply),
  },
];

function listed(node: RunningNode, all: boolean, limit: number): Static<typeof LossesAnswer> {
  const losses = node.losses();
  const open = losses.filter(({ acknowledged }) => !acknowledged);
  const newest = (all ? losses : open).slice(-limit).reverse();
  return { node: node.id, open: open.length, losses: newest.map((loss) => lossShape(node, loss)) };
}

async function acknowledgeLosses(api: ApiContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { node } = api;
  const { transactions, all } = request.body as Static<typeof AcknowledgeBody>;
  if ((transactions === undefined) === (all === undefined)) {
    throw new IsochronError('INVALID_REQUEST', 'Give either "transactions" or "all".');
  }
  const acknowledged = await node.acknowledgeLosses(transactions === undefined ? 'all' : storedIn(node, transactions));
  const { open } = node.status().losses;
  api.sendJson(reply, JSON.stringify({ node: node.id, acknowledged, open }));
}

/** The ids of reported losses, as nodes store them, whose clients made these ids. */
function storedIn(node: RunningNode, transactions: readonly TxId[]): TxId[] {
  const named = new Set(transactions);
  return node.losses().flatMap(({ txId }) => (named.has(clientTxId(txId)) ? [txId] : []));
}

/** A loss as the API shows it. */
function lossShape({ topology }: RunningNode, loss: Loss): Static<typeof LossesAnswer>['losses'][number] {
  const { txId, ts, attempt, committed, takenBack, node, partitions, keys, acknowledged } = loss;
  return {
    transaction: clientTxId(txId),
    timestamp: ts,
    time: new Date(wallOf(ts)).toISOString(),
    attempt,
    committed,
    takenBack,
    node,
    partitions: partitions.map((id) => topology.partitions[id]?.name ?? String(id)),
    keys: keys.map(unqualify),
    acknowledged,
  };
}

/** Losses in `/v1/cluster`: the number of open losses, and for operators, since losses name keys, the newest few. */
export function lossSummary(node: RunningNode, isForOperator: boolean): object {
  const { open, losses } = listed(node, false, NEWEST);
  return { open, newest: isForOperator ? losses : [] };
}
