/** Losses by lost disks (D10), and their acknowledgement by operators. */
import { IsochronError, type TxId, unqualify, wallOf } from '@isochron/core';
import type { Loss } from '@isochron/protocols';
import { clientTxId } from '@isochron/sessions';
import type { Static } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RunningNode } from '../node/api.js';
import type { ApiContext } from './context.js';
import { json, PLAIN_HEADERS } from './openapi.js';
import { AcknowledgeAnswer, AcknowledgeBody, EmptyQuery, LossesAnswer, LossesQuery } from './schemas.js';

const DEFAULT_LIMIT = 1000;
/** Number of losses in `/v1/cluster`. */
const NEWEST = 5;

export function lossRoutes(app: FastifyInstance, api: ApiContext): void {
  const list = {
    tags: ['operations'],
    operationId: 'getLosses',
    summary: 'Transactions of which a lost disk took a part, as this node has recorded them, newest first',
    querystring: LossesQuery,
  };
  app.get(
    '/v1/losses',
    {
      schema: list,
      config: {
        access: 'operate',
        observes: true,
        docs: { response: { 200: json(LossesAnswer, 'the losses', PLAIN_HEADERS) } },
      },
    },
    (request, reply) => {
      const { all = false, limit = DEFAULT_LIMIT } = request.query as Static<typeof LossesQuery>;
      api.sendJson(reply, JSON.stringify(listed(api.node, all, limit)));
    },
  );
  const acknowledge = {
    tags: ['operations'],
    operationId: 'acknowledgeLosses',
    summary: 'Acknowledges losses on this node: they are not reported as open any more',
    querystring: EmptyQuery,
    body: AcknowledgeBody,
  };
  const docs = { response: { 200: json(AcknowledgeAnswer, 'acknowledged, durably', PLAIN_HEADERS) } };
  app.post(
    '/v1/losses/acknowledge',
    { schema: acknowledge, config: { access: 'operate', observes: true, docs } },
    (request, reply) => acknowledgeLosses(api, request, reply),
  );
}

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

/** Losses in `/v1/cluster`: the number of open ones, and for operators, since they name keys, the newest few. */
export function lossSummary(node: RunningNode, isForOperator: boolean): object {
  const { open, losses } = listed(node, false, NEWEST);
  return { open, newest: isForOperator ? losses : [] };
}
