/** One-shot transactions over many keys: `POST /v1/read`, `POST /v1/commit`. */

import type { QualifiedKey } from '@isochron/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiContext } from './context.js';
import type { OneShots } from './one-shots.js';
import { json, READ_HEADERS, SessionHeaders, WRITE_HEADERS, WriteHeaders } from './openapi.js';
import { countKeys } from './rates.js';
import { readAnswerText } from './reader.js';
import { sendCommitted } from './routes-keys.js';
import { CommitAnswer, CommitBody, EmptyQuery, ReadAnswer, ReadBody } from './schemas.js';
import { writesOf } from './writer.js';

export function batchRoutes(app: FastifyInstance, api: ApiContext, data: OneShots): void {
  const read = {
    tags: ['transactions'],
    operationId: 'read',
    summary: 'Reads many keys in one snapshot',
    querystring: EmptyQuery,
    body: ReadBody,
  };
  const readDocs = { headers: SessionHeaders, response: { 200: json(ReadAnswer, 'the values', READ_HEADERS) } };
  app.post('/v1/read', { schema: read, config: { access: 'read', docs: readDocs } }, readBatch(api, data));
  const write = {
    tags: ['transactions'],
    operationId: 'commit',
    summary: 'Writes many keys atomically',
    querystring: EmptyQuery,
    body: CommitBody,
  };
  const writeDocs = {
    headers: WriteHeaders,
    response: { 200: json(CommitAnswer, 'committed, durably', WRITE_HEADERS) },
  };
  app.post('/v1/commit', { schema: write, config: { access: 'write', docs: writeDocs } }, (request, reply) =>
    commitBatch(api, data, request, reply),
  );
}

/** The qualified keys of a body, checked and counted. @throws IsochronError for what the rules and limits refuse */
export function keysOf(api: ApiContext, request: FastifyRequest, refs: ReadBody['keys']): QualifiedKey[] {
  api.rules.count(refs.length);
  countKeys(api, request, refs.length);
  return refs.map(({ keyspace, key }) => api.rules.qualify(keyspace, key));
}

function readBatch(api: ApiContext, data: OneShots) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const body = request.body as ReadBody;
    const keys = keysOf(api, request, body.keys);
    const at = api.at(body);
    data
      .read(request, keys, at)
      .then((shown) => api.headers.send(reply, shown.snapshot, shown.token, readAnswerText(shown)))
      .catch((error: unknown) => reply.send(error));
  };
}

async function commitBatch(
  api: ApiContext,
  data: OneShots,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const writes = writesOf(api, request, (request.body as CommitBody).writes);
  sendCommitted(api, reply, await data.write(request, writes));
}
