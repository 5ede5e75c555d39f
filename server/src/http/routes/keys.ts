/** One key: GET, PUT, PATCH, DELETE. */
import { isUtf8 } from 'node:buffer';
import { IsochronError, type QualifiedKey, type Update, type Value, type Version } from '@isochron/core';
import { clientTxId, requireCapability } from '@isochron/sessions';
import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Headers } from '../caching/answers.js';
import type { ApiContext, RouteContext } from '../context.js';
import {
  contents,
  json,
  SessionHeaders,
  VALUE_HEADERS,
  WRITE_HEADERS,
  WriteHeaders,
} from '../documentation/openapi.js';
import { AtSchema, CommitAnswer, KeyParams, Operations, object } from '../documentation/schemas.js';
import type { Shown, WriteResult } from '../one-shots/one-shots.js';
import type { Route } from './route.js';
import { READ_ERRORS, WRITE_ERRORS } from './route-errors.js';

const BYTES_TYPE = 'application/octet-stream';
const MERGE_PATCH_TYPE = 'application/merge-patch+json';
const OPERATIONS_TYPE = 'application/vnd.isochron.operations+json';
export const anyDocument = Type.Unknown({ description: 'the document, in its normal form' });
const anyBytes = Type.String({ format: 'binary' });
const IfNoneMatch = Type.String({ description: 'an ETag: the answer is 304 while the value is still the same' });
const bytesOrDocument = { 'application/json': anyDocument, [BYTES_TYPE]: anyBytes };

/** The key as one percent-encoded segment, and unencoded with its slashes. */
const PATHS = { path: '/v1/keyspaces/:keyspace/keys/:key', alias: '/v1/keyspaces/:keyspace/keys/*' };
const writes = {
  ...PATHS,
  tag: 'keys',
  access: 'write',
  params: KeyParams,
  headers: WriteHeaders,
  answers: { 200: json(CommitAnswer, 'committed, durably', WRITE_HEADERS) },
  errors: [...WRITE_ERRORS, 'CONDITIONAL_WRITE_UNSUPPORTED'],
} as const;

/** Reads and writes of one key. */
export const KEY_ROUTES: readonly Route<RouteContext>[] = [
  {
    ...PATHS,
    method: 'GET',
    id: 'getKey',
    tag: 'keys',
    summary: 'Newest value of a key in the stable snapshot',
    access: 'read',
    params: KeyParams,
    headers: Type.Object({ ...SessionHeaders.properties, 'if-none-match': Type.Optional(IfNoneMatch) }),
    query: object({ at: Type.Optional(AtSchema) }),
    answers: {
      200: contents(bytesOrDocument, 'the value', VALUE_HEADERS),
      304: { type: 'null', description: 'the value is the one that If-None-Match names', headers: VALUE_HEADERS },
    },
    errors: [...READ_ERRORS, 'KEY_NOT_FOUND'],
    handle: getKey,
  },
  { ...writes, method: 'DELETE', id: 'deleteKey', summary: 'Deletes a key', handle: deleteKey },
  { ...writes, method: 'PUT', id: 'putKey', summary: 'Writes a key', value: bytesOrDocument, handle: putKey },
  {
    ...writes,
    method: 'PATCH',
    id: 'patchKey',
    summary: 'Changes a document: by a merge patch (RFC 7396) or by operations',
    description:
      'The change itself is stored, and merges with those of others in the order of their commits. Under protocols without `updates` it reads, merges and writes in one transaction: of concurrent writes to one key the last one wins as a whole.',
    value: { [MERGE_PATCH_TYPE]: anyDocument, 'application/json': anyDocument, [OPERATIONS_TYPE]: Operations },
    handle: patchKey,
  },
];

/** @throws IsochronError for what the rules refuse */
export function keyOf(api: ApiContext, request: FastifyRequest): QualifiedKey {
  const params = request.params as { keyspace: string; key?: string; '*'?: string };
  return api.rules.qualify(params.keyspace, params.key ?? params['*'] ?? '');
}

function getKey({ api, oneShots }: RouteContext, request: FastifyRequest, reply: FastifyReply): void {
  const key = keyOf(api, request);
  const at = api.at(request.query);
  oneShots
    .get(request, key, at)
    .then((shown) => sendValue(api, shown, reply))
    .catch((error: unknown) => reply.send(error));
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

async function putKey({ api, oneShots }: RouteContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  refuseConditions(request);
  const key = keyOf(api, request);
  sendCommitted(api, reply, await oneShots.write(request, [{ key, value: api.rules.value(putValue(request)) }]));
}

function putValue(request: FastifyRequest): Value {
  const body = bodyOf(request);
  // A copy: the parser's buffer may be a slice of a larger one, which would stay in memory.
  return mediaType(request) === BYTES_TYPE ? new Uint8Array(body) : utf8Text(body);
}

async function deleteKey({ api, oneShots }: RouteContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  refuseConditions(request);
  sendCommitted(api, reply, await oneShots.write(request, [{ key: keyOf(api, request), value: null }]));
}

async function patchKey({ api, oneShots }: RouteContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  refuseConditions(request);
  const key = keyOf(api, request);
  const text = utf8Text(bodyOf(request));
  const isOperations = mediaType(request) === OPERATIONS_TYPE;
  if (isOperations) requireCapability(api.node.protocol, 'updates', OPERATIONS_TYPE);
  const value = isOperations ? api.rules.update(text) : mergeUpdate(api, text);
  const written = api.node.protocol.capabilities.has('updates')
    ? oneShots.write(request, [{ key, value }])
    : oneShots.patch(request, key, JSON.parse(text));
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

const mediaType = (request: FastifyRequest): string =>
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
