/**
 * Invalid input of clients, and the code of the answer: one table for the API's tests and for the tests with processes.
 * Limits are the defaults: keys of 1 KiB, values of 1 MiB, 1,000 keys in a request.
 */

/** The values that only the runner of the table can make. */
export interface BadInputContext {
  /** A token of this cluster. */
  readonly token: string;
  /** A token of another cluster, or of another history of this one. */
  readonly foreignToken: string;
  /** A token of this cluster with a timestamp far ahead. */
  readonly futureToken: string;
  /** A timestamp far ahead. */
  readonly futureTimestamp: number;
  /** The id of a node of the region that is asked, and of a node of another one. */
  readonly node: string;
  readonly foreignNode: string;
}

export interface BadRequest {
  readonly name: string;
  readonly method: 'GET' | 'PUT' | 'PATCH' | 'POST' | 'DELETE';
  readonly path: string | ((context: BadInputContext) => string);
  readonly headers?: (context: BadInputContext) => Record<string, string>;
  readonly body?: string | Buffer | ((context: BadInputContext) => string);
  readonly status: number;
  readonly code: string;
}

const KEYS = '/v1/keyspaces/default/keys';
const TX_ID = 'abcdefghijklmnopqrstuv.0';
const jsonType = { 'content-type': 'application/json' };
const asJson = (): Record<string, string> => jsonType;
const withToken = (pick: (context: BadInputContext) => string) => (context: BadInputContext) => ({
  'isochron-session': pick(context),
});
const refs = (count: number, key = (i: number) => `k${i}`) =>
  Array.from({ length: count }, (_, i) => ({ keyspace: 'default', key: key(i) }));

/** Changes one character, so that the text stays well-formed and its MAC does not match. */
export const forge = (token: string): string =>
  `${token.slice(0, 30)}${token[30] === 'A' ? 'B' : 'A'}${token.slice(31)}`;

const post = (name: string, path: string, body: unknown, status: number, code: string): BadRequest => ({
  name,
  method: 'POST',
  path,
  headers: asJson,
  body: typeof body === 'string' ? body : JSON.stringify(body),
  status,
  code,
});
const put = (name: string, path: string, body: string | Buffer, status: number, code: string): BadRequest => ({
  name,
  method: 'PUT',
  path,
  headers: asJson,
  body,
  status,
  code,
});
const get = (name: string, path: BadRequest['path'], status: number, code: string): BadRequest => ({
  name,
  method: 'GET',
  path,
  status,
  code,
});
const token = (name: string, pick: (context: BadInputContext) => string, code: string): BadRequest => ({
  ...get(name, `${KEYS}/a`, 400, code),
  headers: withToken(pick),
});

export const BAD_REQUESTS: readonly BadRequest[] = [
  get('an unknown keyspace', '/v1/keyspaces/nowhere/keys/a', 404, 'KEYSPACE_UNKNOWN'),
  get('an unknown keyspace in a listing', '/v1/keyspaces/nowhere/keys', 404, 'KEYSPACE_UNKNOWN'),
  put('a write to an unknown keyspace', '/v1/keyspaces/nowhere/keys/a', '1', 404, 'KEYSPACE_UNKNOWN'),
  post('an unknown keyspace in a read', '/v1/read', { keys: [{ keyspace: 'x', key: 'a' }] }, 404, 'KEYSPACE_UNKNOWN'),
  get('a key over 1 KiB', `${KEYS}/${'k'.repeat(1025)}`, 400, 'KEY_INVALID'),
  get('a key over 1 KiB of UTF-8', `${KEYS}/${encodeURIComponent('é'.repeat(513))}`, 400, 'KEY_INVALID'),
  get('a key longer than any parameter', `${KEYS}/${'k'.repeat(5000)}`, 400, 'KEY_INVALID'),
  get('an empty key', `${KEYS}/`, 400, 'KEY_INVALID'),
  get('a key that is not UTF-8', `${KEYS}/%FF%FE`, 400, 'KEY_INVALID'),
  get('a key with broken percent-encoding', `${KEYS}/a%2`, 400, 'KEY_INVALID'),
  post('an empty key in a read', '/v1/read', { keys: refs(1, () => '') }, 400, 'KEY_INVALID'),
  post('a lone surrogate in a key', '/v1/read', { keys: refs(1, () => '\ud800') }, 400, 'VALUE_INVALID'),
  put('a value over the limit', `${KEYS}/a`, `"${'x'.repeat(1024 * 1024)}"`, 413, 'VALUE_TOO_LARGE'),
  put('a value that is not JSON', `${KEYS}/a`, '{"a":', 400, 'VALUE_INVALID'),
  put('an empty value', `${KEYS}/a`, '', 400, 'VALUE_INVALID'),
  put('a value that is not UTF-8', `${KEYS}/a`, Buffer.from([0x22, 0xff, 0x22]), 400, 'VALUE_INVALID'),
  {
    ...put('a value of another media type', `${KEYS}/a`, 'a', 415, 'UNSUPPORTED_MEDIA_TYPE'),
    headers: () => ({ 'content-type': 'text/plain' }),
  },
  {
    ...put('a conditional write', `${KEYS}/a`, '1', 400, 'CONDITIONAL_WRITE_UNSUPPORTED'),
    headers: () => ({ ...jsonType, 'if-match': '"1"' }),
  },
  {
    ...put('an idempotency key of more than 255 bytes', `${KEYS}/a`, '1', 400, 'INVALID_REQUEST'),
    headers: () => ({ ...jsonType, 'idempotency-key': 'x'.repeat(256) }),
  },
  post('more than 1,000 keys in a read', '/v1/read', { keys: refs(1001) }, 413, 'TOO_MANY_KEYS'),
  post(
    'more than 1,000 keys in a commit',
    '/v1/commit',
    { writes: refs(1001).map((ref) => ({ ...ref, value: 1 })) },
    413,
    'TOO_MANY_KEYS',
  ),
  post('a body that is not JSON', '/v1/read', '{', 400, 'INVALID_REQUEST'),
  post('an unknown field', '/v1/read', { keys: refs(1), wait: true }, 400, 'INVALID_REQUEST'),
  post('a number as a key', '/v1/read', { keys: [{ keyspace: 'default', key: 1 }] }, 400, 'INVALID_REQUEST'),
  post('a write without a value', '/v1/commit', { writes: refs(1) }, 400, 'INVALID_REQUEST'),
  post(
    'a write with two values',
    '/v1/commit',
    { writes: [{ ...refs(1)[0], value: 1, delete: true }] },
    400,
    'INVALID_REQUEST',
  ),
  post(
    'a key written twice',
    '/v1/commit',
    { writes: refs(2, () => 'a').map((ref) => ({ ...ref, value: 1 })) },
    400,
    'INVALID_REQUEST',
  ),
  post('bytes that are not base64', '/v1/commit', { writes: [{ ...refs(1)[0], bytes: '??' }] }, 400, 'VALUE_INVALID'),
  post(
    'a good write beside a bad one',
    '/v1/commit',
    {
      writes: [
        { keyspace: 'default', key: 'half', value: 1 },
        { keyspace: 'nowhere', key: 'half', value: 1 },
      ],
    },
    404,
    'KEYSPACE_UNKNOWN',
  ),
  get('a timestamp that is no number', `${KEYS}/a?at=yesterday`, 400, 'INVALID_REQUEST'),
  get('a snapshot of the future', (context) => `${KEYS}/a?at=${context.futureTimestamp}`, 400, 'TIMESTAMP_IN_FUTURE'),
  get(
    'a stable time of the future',
    (context) => `/v1/stable?ts=${context.futureTimestamp}`,
    400,
    'TIMESTAMP_IN_FUTURE',
  ),
  get('an unknown parameter', `${KEYS}/a?when=1`, 400, 'INVALID_REQUEST'),
  get('a listing with a negative limit', `${KEYS}?limit=-1`, 400, 'INVALID_REQUEST'),
  get('a damaged cursor', `${KEYS}?cursor=abc`, 400, 'CURSOR_INVALID'),
  get('an unknown transaction', (context) => `/v1/transactions/nonsense@${context.node}`, 404, 'TRANSACTION_UNKNOWN'),
  get(
    'a transaction of another region',
    (c) => `/v1/transactions/${TX_ID}@${c.foreignNode}`,
    404,
    'TRANSACTION_UNKNOWN',
  ),
  {
    ...post('a read in an unknown transaction', '', { keys: refs(1) }, 404, 'TRANSACTION_UNKNOWN'),
    path: (context) => `/v1/transactions/${TX_ID}@${context.node}/read`,
  },
  {
    ...post(
      'a commit of an unknown transaction',
      '',
      { writes: [{ ...refs(1)[0], value: 1 }] },
      404,
      'TRANSACTION_UNKNOWN',
    ),
    path: (context) => `/v1/transactions/${TX_ID}@${context.node}/commit`,
  },
  token('a malformed token', () => 'hello', 'TOKEN_INVALID'),
  token('a forged token', (context) => forge(context.token), 'TOKEN_INVALID'),
  token('a truncated token', (context) => context.token.slice(0, -4), 'TOKEN_INVALID'),
  token('a token that is too long', () => 'A'.repeat(300), 'TOKEN_INVALID'),
  token('a token of another cluster', (context) => context.foreignToken, 'TOKEN_FOREIGN'),
  token('a token from the future', (context) => context.futureToken, 'TIMESTAMP_IN_FUTURE'),
  get('an unknown route', '/v1/nothing', 404, 'ROUTE_NOT_FOUND'),
  get('a method that the route does not have', '/v1/read', 405, 'METHOD_NOT_ALLOWED'),
];

/** The frames of a session after (or instead of) its hello, and the answer. */
export interface BadFrames {
  readonly name: string;
  /** Messages: text as it is, bytes as a binary message, anything else as JSON. */
  readonly messages: readonly unknown[] | ((context: BadInputContext) => readonly unknown[]);
  /** Whether a valid hello is sent before. Default true. */
  readonly hello?: boolean;
  readonly code: string;
  /** The close code that follows; undefined if the connection goes on. */
  readonly closes?: number;
}

const commit = (change: object) => ({
  type: 'commit',
  id: 1,
  tx: TX_ID,
  snapshot: 0,
  hwt: 0,
  sentAfter: 0,
  attemptRegions: ['virginia'],
  writes: [{ key: 'default/a', value: '1' }],
  ...change,
});
const read = (change: object) => ({ type: 'read', id: 1, keys: ['default/a'], ...change });

export const BAD_FRAMES: readonly BadFrames[] = [
  { name: 'text that is not JSON', messages: ['{'], code: 'FRAME_INVALID', closes: 4400 },
  { name: 'bytes under the JSON subprotocol', messages: [Buffer.from([1, 2])], code: 'FRAME_INVALID', closes: 4400 },
  { name: 'a frame that is no object', messages: [[1]], code: 'FRAME_INVALID', closes: 4400 },
  { name: 'a request without an id', messages: [{ type: 'ping' }], code: 'FRAME_INVALID', closes: 4400 },
  { name: 'an unknown type without an id', messages: [{ type: 'dance' }], code: 'FRAME_TYPE_UNKNOWN', closes: 4400 },
  { name: 'an unknown type', messages: [{ type: 'dance', id: 1 }], code: 'FRAME_TYPE_UNKNOWN' },
  { name: 'a type that every object has', messages: [{ type: 'constructor', id: 1 }], code: 'FRAME_TYPE_UNKNOWN' },
  {
    name: 'a second use of an id',
    messages: [
      { type: 'ping', id: 1 },
      { type: 'ping', id: 1 },
    ],
    code: 'REQUEST_ID_REUSED',
  },
  {
    name: 'a request before hello',
    hello: false,
    messages: [{ type: 'ping', id: 1 }],
    code: 'FRAME_INVALID',
    closes: 4400,
  },
  {
    name: 'hello with a forged token',
    hello: false,
    messages: (context) => [{ type: 'hello', token: forge(context.token) }],
    code: 'TOKEN_INVALID',
    closes: 4400,
  },
  {
    name: 'hello with a token of another cluster',
    hello: false,
    messages: (context) => [{ type: 'hello', token: context.foreignToken }],
    code: 'TOKEN_FOREIGN',
    closes: 4400,
  },
  {
    name: 'hello with a token from the future',
    hello: false,
    messages: (context) => [{ type: 'hello', token: context.futureToken }],
    code: 'TIMESTAMP_IN_FUTURE',
    closes: 4400,
  },
  { name: 'an unknown keyspace', messages: [read({ keys: ['nowhere/a'] })], code: 'KEYSPACE_UNKNOWN' },
  { name: 'a key without a keyspace', messages: [read({ keys: ['a'] })], code: 'KEY_INVALID' },
  { name: 'an empty key', messages: [read({ keys: ['default/'] })], code: 'KEY_INVALID' },
  { name: 'a key over 1 KiB', messages: [read({ keys: [`default/${'k'.repeat(1025)}`] })], code: 'KEY_INVALID' },
  {
    name: 'a key with a lone surrogate',
    messages: ['{"type":"read","id":1,"keys":["default/\\ud800"]}'],
    code: 'KEY_INVALID',
  },
  {
    name: 'more than 1,000 keys',
    messages: [read({ keys: refs(1001).map(({ key }) => `default/${key}`) })],
    code: 'TOO_MANY_KEYS',
  },
  { name: 'keys that are no list', messages: [read({ keys: 'default/a' })], code: 'INVALID_REQUEST' },
  { name: 'a transaction id that is none', messages: [read({ tx: 'x' })], code: 'INVALID_REQUEST' },
  { name: 'an unknown transaction', messages: [read({ tx: TX_ID })], code: 'TRANSACTION_UNKNOWN' },
  {
    name: 'a snapshot of the future',
    messages: (context) => [read({ at: context.futureTimestamp })],
    code: 'TIMESTAMP_IN_FUTURE',
  },
  {
    name: 'a value that is not JSON',
    messages: [commit({ writes: [{ key: 'default/a', value: '{' }] })],
    code: 'VALUE_INVALID',
  },
  {
    name: 'a value that is no text',
    messages: [commit({ writes: [{ key: 'default/a', value: 1 }] })],
    code: 'VALUE_INVALID',
  },
  {
    name: 'a value over the limit',
    messages: [commit({ writes: [{ key: 'default/a', value: `"${'x'.repeat(1024 * 1024)}"` }] })],
    code: 'VALUE_TOO_LARGE',
  },
  { name: 'a commit without writes', messages: [commit({ writes: [] })], code: 'INVALID_REQUEST' },
  { name: 'a commit without attemptRegions', messages: [commit({ attemptRegions: [] })], code: 'INVALID_REQUEST' },
  { name: 'a home that is no region', messages: [commit({ attemptRegions: ['atlantis'] })], code: 'INVALID_REQUEST' },
  { name: 'a hwt from the future', messages: (c) => [commit({ hwt: c.futureTimestamp })], code: 'TIMESTAMP_IN_FUTURE' },
  {
    name: 'a sentAfter from the future',
    messages: (c) => [commit({ sentAfter: c.futureTimestamp })],
    code: 'TIMESTAMP_IN_FUTURE',
  },
  {
    name: 'a listing of an unknown keyspace',
    messages: [{ type: 'list', id: 1, keyspace: 'x' }],
    code: 'KEYSPACE_UNKNOWN',
  },
];
