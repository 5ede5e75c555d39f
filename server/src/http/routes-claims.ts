/** Claims: the first `init` of a key wins, in every region (F7). */
import { IsochronError, type QualifiedKey, type Timestamp } from '@isochron/core';
import {
  type ClaimRead,
  clientTxId,
  readClaim,
  requireCapability,
  snapshotOf,
  UndecidedError,
  wanted,
} from '@isochron/sessions';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { promised } from '../node/promised.js';
import { type TransactionsContext, waitMsOf } from './context.js';
import type { OneShots, WriteResult } from './one-shots.js';
import { json, type RouteDocs, WRITE_HEADERS, WriteHeaders } from './openapi.js';
import { valueField } from './reader.js';
import { anyDocument, bodyOf, keyOf, mediaType, refuseConditions, utf8Text } from './routes-keys.js';
import { ClaimAnswer, EmptyQuery, KeyParams } from './schemas.js';

const docs: RouteDocs = {
  params: KeyParams,
  headers: WriteHeaders,
  body: { content: { 'application/json': { schema: anyDocument } } },
  response: { 200: json(ClaimAnswer, 'decided, in every region', WRITE_HEADERS) },
};
const schema = {
  tags: ['keys'],
  operationId: 'claimKey',
  summary: 'Stores a document where there is none, and answers who was first',
  description:
    'The answer comes once the claim is stable: a round trip over the slowest link. While a node or a region is cut off it is STABLE_TIMEOUT after `Prefer: wait=SECONDS`; repeat it with the `transaction` of the problem as Idempotency-Key.',
  querystring: EmptyQuery,
};

export function claimRoutes(app: FastifyInstance, api: TransactionsContext, data: OneShots): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    const bodyLimit = api.rules.limits.maxValueBytes;
    const config = { access: 'write', docs, bodyIsValue: true } as const;
    scope.post('/v1/keyspaces/:keyspace/keys/:key/claim', { schema, config, bodyLimit }, (request, reply) =>
      claim(api, data, request, reply),
    );
  });
}

async function claim(
  api: TransactionsContext,
  data: OneShots,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  requireCapability(api.node.protocol, 'updates', 'A claim');
  refuseConditions(request);
  const key = keyOf(api, request);
  if (mediaType(request) !== 'application/json')
    throw new IsochronError('UNSUPPORTED_MEDIA_TYPE', 'A claim takes application/json.');
  const document = api.rules.value(utf8Text(bodyOf(request)));
  const written = await data.write(request, [{ key, value: api.rules.update(`[{"op":"init","value":${document}}]`) }]);
  const { text, token } = await decided(api, request, key, written).catch((error: unknown) => {
    // The claim has taken effect: a new one would lose against it.
    throw error instanceof IsochronError ? new UndecidedError(written.txId, error) : error;
  });
  const answer = { 'isochron-session': token, 'isochron-commit-timestamp': String(written.ct) };
  api.answers.send(reply, 200, answer, text);
}

/** Waits until the claim is stable, and reads at its timestamp: nothing at or below that can change any more. */
async function decided(
  api: TransactionsContext,
  request: FastifyRequest,
  key: QualifiedKey,
  { txId, ct, token }: WriteResult,
): Promise<{ text: string; token: string }> {
  const at = { ts: ct };
  await promised<Timestamp>((done) => api.serving.stable(api.client(request), ct, waitMsOf(request), done));
  const read = { type: 'ReadReq', txId: null, ...wanted(at, at), keys: [key] } as const;
  const coordinator = api.coordinator(request, ct);
  const { answer, version, origin } = await promised<ClaimRead>((done) => readClaim(coordinator, read, txId, done));
  const won = origin?.ts === ct && clientTxId(origin.txId) === txId;
  const { value } = version ?? { value: null };
  const field = value === null ? '' : `,${valueField(value)}`;
  const text = `{"transaction":"${txId}","timestamp":${ct},"won":${won}${field}}`;
  const caller = await api.sessions.resolve(token, api.holder(request));
  return { text, token: api.sessions.tokenAfterRead(caller, snapshotOf(answer), api.holder(request)) };
}
