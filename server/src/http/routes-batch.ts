/** One-shot transactions over many keys: `POST /v1/read`, `POST /v1/commit`. */

import type { QualifiedKey } from '@isochron/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../session/http-sessions.js';
import type { ApiContext } from './context.js';
import { json, SessionHeaders, WriteHeaders } from './openapi.js';
import { readAnswerText, readKeys } from './reader.js';
import { sendCommitted } from './routes-keys.js';
import { CommitAnswer, CommitBody, EmptyQuery, ReadAnswer, ReadBody } from './schemas.js';
import { commit, oneShot, writesOf } from './writer.js';

export function batchRoutes(app: FastifyInstance, api: ApiContext): void {
  const read = {
    tags: ['transactions'],
    summary: 'Reads many keys in one snapshot',
    querystring: EmptyQuery,
    body: ReadBody,
  };
  const readDocs = { headers: SessionHeaders, response: { 200: json(ReadAnswer, 'the values') } };
  app.post('/v1/read', { schema: read, config: { docs: readDocs } }, readBatch(api));
  const write = {
    tags: ['transactions'],
    summary: 'Writes many keys atomically',
    querystring: EmptyQuery,
    body: CommitBody,
  };
  const writeDocs = { headers: WriteHeaders, response: { 200: json(CommitAnswer, 'committed, durably') } };
  app.post('/v1/commit', { schema: write, config: { docs: writeDocs } }, (request, reply) =>
    commitBatch(api, request, reply),
  );
}

/** The qualified keys of a body, checked. @throws IsochronError for what the rules refuse */
export function keysOf(api: ApiContext, refs: ReadBody['keys']): QualifiedKey[] {
  api.rules.count(refs.length);
  return refs.map(({ keyspace, key }) => api.rules.qualify(keyspace, key));
}

function readBatch(api: ApiContext) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const body = request.body as ReadBody;
    const keys = keysOf(api, body.keys);
    const at = api.at(body);
    const caller = api.reader(request);
    const answer = (complete: Caller): Promise<void> =>
      readKeys(api, complete, keys, at).then((seen) => {
        const token = api.sessions.tokenAfterRead(complete, seen.snapshot);
        api.headers.send(reply, seen.snapshot, token, readAnswerText(seen));
      });
    const answered = caller instanceof Promise ? caller.then(answer) : answer(caller);
    answered.catch((error: unknown) => reply.send(error));
  };
}

async function commitBatch(api: ApiContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const writes = writesOf(api, (request.body as CommitBody).writes);
  const id = api.writeId(request);
  const caller = await api.caller(request);
  const { ct, token } = await commit(api, caller, oneShot(api, caller, id, api.principal(request), writes));
  sendCommitted(reply, id.txId, ct, token);
}
