/** One-shot transactions over many keys: `POST /v1/read`, `POST /v1/commit`. */
import type { QualifiedKey } from '@isochron/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiContext, RouteContext } from '../context.js';
import { json, READ_HEADERS, SessionHeaders, WRITE_HEADERS, WriteHeaders } from '../documentation/openapi.js';
import { CommitAnswer, CommitBody, ReadAnswer, ReadBody } from '../documentation/schemas.js';
import { countKeys } from '../limits/rates.js';
import { readAnswerText } from '../one-shots/reader.js';
import { writesOf } from '../one-shots/writer.js';
import { sendCommitted } from './keys.js';
import type { Route } from './route.js';
import { READ_ERRORS, WRITE_ERRORS } from './route-errors.js';

/** Reads and writes of many keys at once. */
export const BATCH_ROUTES: readonly Route<RouteContext>[] = [
  {
    method: 'POST',
    path: '/v1/read',
    id: 'read',
    tag: 'transactions',
    summary: 'Reads many keys in one snapshot',
    access: 'read',
    headers: SessionHeaders,
    body: ReadBody,
    answers: { 200: json(ReadAnswer, 'the values', READ_HEADERS) },
    errors: READ_ERRORS,
    handle: readBatch,
  },
  {
    method: 'POST',
    path: '/v1/commit',
    id: 'commit',
    tag: 'transactions',
    summary: 'Writes many keys atomically',
    access: 'write',
    headers: WriteHeaders,
    body: CommitBody,
    answers: { 200: json(CommitAnswer, 'committed, durably', WRITE_HEADERS) },
    errors: WRITE_ERRORS,
    handle: commitBatch,
  },
];

/** The qualified keys of a body, checked and counted. @throws IsochronError for what the rules and limits refuse */
export function keysOf(api: ApiContext, request: FastifyRequest, refs: ReadBody['keys']): QualifiedKey[] {
  api.rules.count(refs.length);
  countKeys(api, request, refs.length);
  return refs.map(({ keyspace, key }) => api.rules.qualify(keyspace, key));
}

function readBatch({ api, oneShots }: RouteContext, request: FastifyRequest, reply: FastifyReply): void {
  const body = request.body as ReadBody;
  const keys = keysOf(api, request, body.keys);
  const at = api.at(body);
  oneShots
    .read(request, keys, at)
    .then((shown) => api.headers.send(reply, shown.snapshot, shown.token, readAnswerText(shown)))
    .catch((error: unknown) => reply.send(error));
}

async function commitBatch(
  { api, oneShots }: RouteContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const writes = writesOf(api, request, (request.body as CommitBody).writes);
  sendCommitted(api, reply, await oneShots.write(request, writes));
}
