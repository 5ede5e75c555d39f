/** Claims: the first `init` of a key wins, in every region (F7). */
import { IsochronError, type QualifiedKey, type Timestamp } from '@isochron/core';
import { type ClaimRead, clientTxId, readClaim, snapshotOf, UndecidedError, wanted } from '@isochron/sessions';
import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { promised } from '../../node/promised.js';
import { type TransactionsContext, waitMsOf } from '../context.js';
import { json, WRITE_HEADERS, WriteHeaders } from '../documentation/openapi.js';
import { CommitAnswer, KeyParams, named } from '../documentation/schemas.js';
import type { OneShots, WriteResult } from '../one-shots/one-shots.js';
import { valueField } from '../one-shots/reader.js';
import { anyDocument, bodyOf, keyOf, refuseConditions, utf8Text } from './keys.js';
import type { TransactionsRoute } from './route.js';
import { WRITE_ERRORS } from './route-errors.js';

const ClaimAnswer = named('ClaimAnswer', {
  ...CommitAnswer.properties,
  won: Type.Boolean({ description: 'whether this claim made the document' }),
  value: Type.Optional(Type.Unknown({ description: 'the document of the claim that won' })),
  bytes: Type.Optional(Type.String({ description: 'base64, where the key holds a binary value' })),
});

/** A claim: stores a document if its key has none. */
export const CLAIM_ROUTE: TransactionsRoute = {
  method: 'POST',
  path: '/v1/keyspaces/:keyspace/keys/:key/claim',
  id: 'claimKey',
  tag: 'keys',
  summary: 'Stores a document where there is none, and answers who was first',
  description:
    'The answer comes once the claim is stable: a round trip over the slowest link. While a node or a region is cut off it is STABLE_TIMEOUT after `Prefer: wait=SECONDS`; repeat it with the `transaction` of the problem as Idempotency-Key.',
  access: 'write',
  needs: 'updates',
  params: KeyParams,
  headers: WriteHeaders,
  value: { 'application/json': anyDocument },
  answers: { 200: json(ClaimAnswer, 'decided, in every region', WRITE_HEADERS) },
  errors: [...WRITE_ERRORS, 'CONDITIONAL_WRITE_UNSUPPORTED', 'STABLE_TIMEOUT'],
  handle: ({ api, oneShots }, request, reply) => claim(api, oneShots, request, reply),
};

async function claim(
  api: TransactionsContext,
  data: OneShots,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  refuseConditions(request);
  const key = keyOf(api, request);
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
