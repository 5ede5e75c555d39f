/** One key: GET, PUT, PATCH, DELETE. */
import { isUtf8 } from 'node:buffer';
import { IsochronError, type QualifiedKey, type Update, type Value, type Version } from '@isochron/core';
import { clientTxId, requireCapability } from '@isochron/sessions';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Headers } from './answers.js';
import type { ApiContext } from './context.js';
import type { OneShots, Shown, WriteResult } from './one-shots.js';
import { json, type RouteDocs, SessionHeaders, VALUE_HEADERS, WRITE_HEADERS, WriteHeaders } from './openapi.js';
import { AtQuery, CommitAnswer, EmptyQuery, KeyParams, Operations } from './schemas.js';

const BYTES_TYPE = 'application/octet-stream';
const MERGE_PATCH_TYPE = 'application/merge-patch+json';
const OPERATIONS_TYPE = 'application/vnd.isochron.operations+json';
/** The key as one percent-encoded segment, and unencoded with its slashes. */
const PATHS = ['/v1/keyspaces/:keyspace/keys/:key', '/v1/keyspaces/:keyspace/keys/*'] as const;

export const anyDocument = Type.Unknown({ description: 'the document, in its normal form' });
const anyBytes = Type.String({ format: 'binary' });
const notModified = {
  type: 'null',
  description: 'the value is the one that If-None-Match names',
  headers: VALUE_HEADERS,
};
const IfNoneMatch = Type.String({ description: 'an ETag: the answer is 304 while the value is still the same' });
const getDocs: RouteDocs = {
  params: KeyParams,
  headers: Type.Object({ ...SessionHeaders.properties, 'if-none-match': Type.Optional(IfNoneMatch) }),
  response: {
    200: {
      ...json(anyDocument, 'the value', VALUE_HEADERS),
      content: { 'application/json': { schema: anyDocument }, [BYTES_TYPE]: { schema: anyBytes } },
    },
    304: notModified,
  },
};
const writeDocs: RouteDocs = {
  params: KeyParams,
  headers: WriteHeaders,
  response: { 200: json(CommitAnswer, 'committed, durably', WRITE_HEADERS) },
};
const putDocs: RouteDocs = {
  ...writeDocs,
  body: { content: { 'application/json': { schema: anyDocument }, [BYTES_TYPE]: { schema: anyBytes } } },
};
const patchDocs: RouteDocs = {
  ...writeDocs,
  body: {
    content: {
      [MERGE_PATCH_TYPE]: { schema: anyDocument },
      'application/json': { schema: anyDocument },
      [OPERATIONS_TYPE]: { schema: Operations },
    },
  },
};

export function keyRoutes(app: FastifyInstance, api: ApiContext, data: OneShots): void {
  const common = (i: number, operationId: string) => ({ tags: ['keys'], hide: i > 0, operationId });
  PATHS.forEach((path, i) => {
    const get = {
      ...common(i, 'getKey'),
      summary: 'Newest value of a key in the stable snapshot',
      querystring: AtQuery,
    };
    app.get(path, { schema: get, config: { access: 'read', docs: getDocs } }, getKey(api, data));
    const remove = { ...common(i, 'deleteKey'), summary: 'Deletes a key', querystring: EmptyQuery };
    app.delete(path, { schema: remove, config: { access: 'write', docs: writeDocs } }, (request, reply) =>
      deleteKey(api, data, request, reply),
    );
  });
  app.register(async (scope) => bodyRoutes(scope, api, data));
}

/** Bodies of writes are texts: the rules check them, and give the text to store. */
function bodyRoutes(scope: FastifyInstance, api: ApiContext, data: OneShots): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    ['application/json', BYTES_TYPE, MERGE_PATCH_TYPE, OPERATIONS_TYPE],
    { parseAs: 'buffer' },
    (_request, body, done) => done(null, body),
  );
  const bodyLimit = api.rules.limits.maxValueBytes;
  PATHS.forEach((path, i) => {
    const common = { tags: ['keys'], hide: i > 0, querystring: EmptyQuery };
    const put = { ...common, operationId: 'putKey', summary: 'Writes a key' };
    const putConfig = { access: 'write', docs: putDocs, bodyIsValue: true } as const;
    scope.put(path, { schema: put, config: putConfig, bodyLimit }, (request, reply) =>
      putKey(api, data, request, reply),
    );
    const summary = 'Changes a document: by a merge patch (RFC 7396) or by operations';
    const patch = { ...common, operationId: 'patchKey', summary, description: PATCH_NOTE };
    const patchConfig = { access: 'write', docs: patchDocs, bodyIsValue: true } as const;
    scope.patch(path, { schema: patch, config: patchConfig, bodyLimit }, (request, reply) =>
      patchKey(api, data, request, reply),
    );
  });
}

const PATCH_NOTE =
  'The change itself is stored, and merges with those of others in the order of their commits. Under protocols without `updates` it reads, merges and writes in one transaction: of concurrent writes to one key the last one wins as a whole.';

/** @throws IsochronError for what the rules refuse */
export function keyOf(api: ApiContext, request: FastifyRequest): QualifiedKey {
  const params = request.params as { keyspace: string; key?: string; '*'?: string };
  return api.rules.qualify(params.keyspace, params.key ?? params['*'] ?? '');
}

function getKey(api: ApiContext, data: OneShots) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const key = keyOf(api, request);
    const at = api.at(request.query);
    data
      .get(request, key, at)
      .then((shown) => sendValue(api, shown, reply))
      .catch((error: unknown) => reply.send(error));
  };
}

function sendValue(api: ApiContext, { versions, snapshot, token }: Shown, reply: FastifyReply): void {
  const version = versions[0];
  if (version == null || version.value === null) {
    api.headers.apply(reply, snapshot, token);
    throw new IsochronError('KEY_NOT_FOUND', 'The key has no value in this snapshot.');
  }
  const timestamp = String(version.ts);
  const etag = etagOf(api, version, timestamp);
  const cached = isCached(reply, etag);
  if (typeof version.value === 'string' && !cached) {
    const headers: Headers = { 'isochron-commit-timestamp': timestamp };
    if (etag !== undefined) headers.etag = etag;
    api.headers.send(reply, snapshot, token, version.value, headers);
    return;
  }
  api.headers.apply(reply, snapshot, token);
  reply.header('isochron-commit-timestamp', timestamp);
  if (etag !== undefined) reply.header('etag', etag);
  if (cached) reply.code(304).send();
  else sendBytes(reply, version.value);
}

function sendBytes(reply: FastifyReply, value: Value): void {
  const bytes = typeof value === 'string' ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  reply.header('content-type', BYTES_TYPE).send(bytes);
}

/**
 * In stable snapshots a timestamp identifies one value of a key. In others, another value of the same timestamp may
 * still come. The same holds for an own write that is not stable yet: it gets no ETag.
 */
function etagOf({ node }: ApiContext, { txId }: Version, timestamp: string): string | undefined {
  if (txId === '') return undefined;
  return node.protocol.capabilities.has('stable-snapshots') ? `"${timestamp}"` : `"${timestamp}-${clientTxId(txId)}"`;
}

/** Whether `If-None-Match` names the value. */
function isCached(reply: FastifyReply, etag: string | undefined): boolean {
  const wanted = reply.request.headers['if-none-match'];
  if (wanted === undefined || etag === undefined) return false;
  return wanted.trim() === '*' || wanted.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === etag);
}

const CONDITIONS = ['if-match', 'if-none-match', 'if-unmodified-since'] as const;

/** @throws IsochronError `CONDITIONAL_WRITE_UNSUPPORTED` */
export function refuseConditions(request: FastifyRequest): void {
  const { headers } = request;
  if (CONDITIONS.every((name) => headers[name] === undefined)) return;
  const detail = 'A condition on a write cannot be honoured across regions: another region may write at the same time.';
  throw new IsochronError('CONDITIONAL_WRITE_UNSUPPORTED', detail);
}

async function putKey(api: ApiContext, data: OneShots, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  refuseConditions(request);
  const key = keyOf(api, request);
  sendCommitted(api, reply, await data.write(request, [{ key, value: api.rules.value(putValue(request)) }]));
}

function putValue(request: FastifyRequest): Value {
  const body = bodyOf(request);
  switch (mediaType(request)) {
    case 'application/json':
      return utf8Text(body);
    case BYTES_TYPE:
      // A copy: the parser's buffer may be a slice of a larger one, which would stay in memory.
      return new Uint8Array(body);
    default:
      throw new IsochronError('UNSUPPORTED_MEDIA_TYPE', `PUT takes application/json or ${BYTES_TYPE}.`);
  }
}

async function deleteKey(api: ApiContext, data: OneShots, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  refuseConditions(request);
  sendCommitted(api, reply, await data.write(request, [{ key: keyOf(api, request), value: null }]));
}

async function patchKey(api: ApiContext, data: OneShots, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  refuseConditions(request);
  const key = keyOf(api, request);
  const text = utf8Text(bodyOf(request));
  const type = mediaType(request);
  if (type === OPERATIONS_TYPE) requireCapability(api.node.protocol, 'updates', OPERATIONS_TYPE);
  else if (type !== MERGE_PATCH_TYPE && type !== 'application/json') {
    const types = `${MERGE_PATCH_TYPE}, application/json or ${OPERATIONS_TYPE}`;
    throw new IsochronError('UNSUPPORTED_MEDIA_TYPE', `PATCH takes ${types}.`);
  }
  const value = type === OPERATIONS_TYPE ? api.rules.update(text) : mergeUpdate(api, text);
  const written = api.node.protocol.capabilities.has('updates')
    ? data.write(request, [{ key, value }])
    : data.patch(request, key, JSON.parse(text));
  sendCommitted(api, reply, await written);
}

/** The update that merges a patch, from its JSON text. */
const mergeUpdate = ({ rules }: ApiContext, patch: string): Update =>
  rules.update(`[{"op":"mergePatch","path":"","patch":${rules.value(patch)}}]`);

/** The answer to every commit. */
export function sendCommitted(api: ApiContext, reply: FastifyReply, { txId, ct, token }: WriteResult): void {
  const headers = { 'isochron-session': token, 'isochron-commit-timestamp': String(ct) };
  api.answers.send(reply, 200, headers, `{"transaction":"${txId}","timestamp":${ct}}`);
}

export const mediaType = (request: FastifyRequest): string =>
  (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();

export function bodyOf(request: FastifyRequest): Buffer {
  if (Buffer.isBuffer(request.body)) return request.body;
  if (request.headers['content-type'] === undefined) {
    throw new IsochronError('UNSUPPORTED_MEDIA_TYPE', 'The request has no content type and no body.');
  }
  return Buffer.alloc(0);
}

export function utf8Text(body: Buffer): string {
  if (!isUtf8(body)) throw new IsochronError('VALUE_INVALID', 'The document is not UTF-8.');
  return body.toString('utf8');
}
