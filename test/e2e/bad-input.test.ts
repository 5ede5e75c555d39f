import { writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { connect, type ErrorCode, type IsochronClient, isIsochronError } from '@isochron/sdk';
import { WebSocket } from 'ws';
import { BAD_FILES, badFileText } from './bad-files.js';
import { BAD_FRAMES, BAD_REQUESTS, type BadInputContext, forge } from './bad-input.js';
import { Cluster, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { isochron } from './processes.js';
import { SessionClient } from './session-client.js';
import { until, within } from './until.js';

jest.setTimeout(60_000);

const AHEAD_MS = 3_600_000;
/** Short, so that transactions expire while a test waits. */
const MAX_TRANSACTION_MS = 1500;
const placement = { regions: ['virginia', 'oregon'], cluster: 'bad-input' };

let cluster: Cluster;
let api: string;
let context: BadInputContext;
let pids: readonly number[];

const tokenOf = async (base: string): Promise<string> =>
  String((await call(base, 'GET', keyPath('nothing'))).headers['isochron-session']);

/** A cluster that is stopped after its tokens have been taken. */
async function tokensElsewhere(options: Parameters<typeof Cluster.start>[0]): Promise<{ token: string; ust: number }> {
  const other = await Cluster.start(options);
  const base = other.endpoints()[0]!;
  const { ust } = (await call(base, 'GET', '/v1/clock')).json as { ust: number };
  const token = await tokenOf(base);
  await other.dispose();
  return { token, ust };
}

beforeAll(async () => {
  const foreign = await tokensElsewhere({ regions: ['virginia'] });
  // The same cluster, an hour from now.
  const future = await tokensElsewhere({ ...placement, args: ['--clock-skew-ms', String(AHEAD_MS)] });
  cluster = await Cluster.start({ ...placement, settings: { maxTransactionMs: MAX_TRANSACTION_MS } });
  api = cluster.endpoint('virginia');
  pids = cluster.nodes.map(({ id }) => cluster.process(id).pid);
  context = {
    token: await tokenOf(api),
    foreignToken: foreign.token,
    futureToken: future.token,
    futureTimestamp: future.ust,
    node: 'virginia-1',
    foreignNode: 'oregon-1',
  };
});
afterAll(cleanUp);

describe('over HTTP', () => {
  it.each(BAD_REQUESTS)(
    'over HTTP $name is answered with $status $code',
    async ({ method, path, headers, body, status, code }) => {
      const request = { headers: headers?.(context) ?? {}, body: typeof body === 'function' ? body(context) : body };
      const answer = await call(api, method, typeof path === 'string' ? path : path(context), request);
      expectProblem(answer, status, code);
    },
  );

  it('over HTTP an expired transaction is answered with 410 TRANSACTION_EXPIRED', async () => {
    const id = await open();
    await until('it has expired', async () => (await readIn(id)).status !== 200);
    expectProblem(await readIn(id), 410, 'TRANSACTION_EXPIRED');
    expectProblem(await commitIn(id, 'expired'), 410, 'TRANSACTION_EXPIRED');
  });

  it('over HTTP a transaction that was aborted is answered with 409 TRANSACTION_FINISHED', async () => {
    const id = await open();
    expect((await call(api, 'DELETE', `/v1/transactions/${id}`)).status).toBe(204);
    expectProblem(await readIn(id), 409, 'TRANSACTION_FINISHED');
    expectProblem(await commitIn(id, 'aborted'), 409, 'TRANSACTION_FINISHED');
  });

  it('over HTTP a committed transaction is closed to reads and to a different commit', async () => {
    const id = await open();
    const first = await commitIn(id, 'good/finished');
    expect(first.status).toBe(200);
    expectProblem(await readIn(id), 409, 'TRANSACTION_FINISHED');
    expectProblem(await commitIn(id, 'good/finished', 2), 409, 'TX_ID_REUSED');
    // A repetition of the same commit does not commit again.
    expect((await commitIn(id, 'good/finished')).json).toEqual(first.json);
  });

  it('an idempotency key is refused for different writes, and repeats the result for the same ones', async () => {
    const headers = { 'idempotency-key': 'bad-input-idempotency.1' };
    const first = await call(api, 'PUT', keyPath('good/once'), { headers, body: { n: 1 } });
    expect(first.status).toBe(200);
    const again = await call(api, 'PUT', keyPath('good/once'), { headers, body: { n: 1 } });
    expect(again).toMatchObject({ status: 200, json: first.json });
    expectProblem(await call(api, 'PUT', keyPath('good/once'), { headers, body: { n: 2 } }), 409, 'TX_ID_REUSED');
  });

  it('a request that is too large is answered with 413 before its body is sent', async () => {
    const head = [
      'POST /v1/commit HTTP/1.1',
      'Host: localhost',
      'Content-Type: application/json',
      'Content-Length: 9000000',
    ];
    const answer = await sendBytes(api, `${head.join('\r\n')}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain('"REQUEST_TOO_LARGE"');
  });

  it.each([
    ['text that is not HTTP', 'hello\r\n\r\n'],
    ['a broken header', 'GET /v1/clock HTTP/1.1\r\nHost: localhost\r\nbroken\r\n\r\n'],
    ['a header that is too large', `GET /v1/clock HTTP/1.1\r\nHost: localhost\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`],
  ])('over HTTP %s is answered with a status of 4xx, and the connection ends', async (_name, bytes) => {
    expect(await sendBytes(api, bytes)).toMatch(/^HTTP\/1\.1 4\d\d /);
  });
});

const open = async (): Promise<string> => ((await call(api, 'POST', '/v1/transactions')).json as { id: string }).id;
const readIn = (id: string) =>
  call(api, 'POST', `/v1/transactions/${id}/read`, { body: { keys: [{ keyspace: 'default', key: 'a' }] } });
const commitIn = (id: string, key: string, value = 1) =>
  call(api, 'POST', `/v1/transactions/${id}/commit`, { body: { writes: [{ keyspace: 'default', key, value }] } });

function expectProblem(answer: Awaited<ReturnType<typeof call>>, status: number, code: string): void {
  expect({ status: answer.status, body: answer.json }).toEqual({
    status,
    body: {
      type: `/errors/${code}`,
      title: expect.any(String),
      status,
      code,
      detail: expect.any(String),
      retryable: expect.any(Boolean),
    },
  });
  expect(answer.headers['content-type']).toContain('application/problem+json');
}

/** Sends bytes over TCP, and returns what the server sent until the connection ended. */
async function sendBytes(base: string, bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(base);
  const socket = connectTcp(Number(port), hostname);
  let received = '';
  socket.setEncoding('latin1').on('data', (text) => {
    received += text;
  });
  const ended = new Promise<void>((resolve) => {
    socket.on('close', () => resolve());
    socket.on('error', () => resolve());
  });
  socket.write(bytes);
  try {
    await within('the end of the connection', 15_000, ended);
  } finally {
    socket.destroy();
  }
  return received;
}

describe('over WebSocket', () => {
  it.each(BAD_FRAMES)('over WebSocket $name is answered with $code', async ({ messages, hello, code, closes }) => {
    const client = await SessionClient.open(api);
    if (hello !== false) await client.hello();
    for (const message of typeof messages === 'function' ? messages(context) : messages) client.send(message);
    const error = await client.next('an error frame', ({ type }) => type === 'error');
    expect(error).toMatchObject({ type: 'error', code, detail: expect.any(String), retryable: expect.any(Boolean) });
    if (closes !== undefined) {
      expect(await client.closed()).toBe(closes);
      return;
    }
    // The connection goes on.
    client.send({ type: 'ping', id: 1000 });
    await client.next('a pong', ({ type, id }) => type === 'pong' && id === 1000);
    await client.close();
  });

  it('a frame that is too large is answered with REQUEST_TOO_LARGE, and closes the connection with 1009', async () => {
    const client = await SessionClient.open(api);
    await client.hello();
    client.send('x'.repeat(9 * 2 ** 20));
    const error = await client.next('an error frame', ({ type }) => type === 'error');
    expect(error).toMatchObject({ code: 'REQUEST_TOO_LARGE', retryable: false });
    expect(await client.closed()).toBe(1009);
  });

  it('a frame that is far too large closes the connection with 1009', async () => {
    const client = await SessionClient.open(api);
    await client.hello();
    client.send('x'.repeat(20 * 2 ** 20));
    expect(await client.closed()).toBe(1009);
  });

  it('an unknown subprotocol closes the connection with 4400', async () => {
    const socket = new WebSocket(`${api.replace('http', 'ws')}/v1/session`, 'isochron.v9');
    const code = await within(
      'the close',
      10_000,
      new Promise((resolve) => {
        socket.on('error', (error) => resolve(error.message));
        socket.on('close', resolve);
      }),
    );
    // The library refuses an answer without the requested subprotocol.
    expect([4400, 'Server sent no subprotocol']).toContain(code);
  });

  it('requests above the granted number in flight are refused with CREDITS_EXHAUSTED', async () => {
    const client = await SessionClient.open(api);
    const { credits } = await client.hello();
    const frames = Array.from({ length: Number(credits) + 10 }, (_, i) => ({
      type: 'read',
      id: i + 1,
      keys: ['default/a'],
    }));
    client.send(frames);
    await until('all answers', () => client.frames.length >= frames.length);
    const codes = new Set(client.frames.filter(({ type }) => type === 'error').map(({ code }) => code));
    expect([...codes]).toEqual(['CREDITS_EXHAUSTED']);
    await client.close();
  });
});

describe('through the SDK', () => {
  let client: IsochronClient;
  beforeAll(async () => {
    client = await connect({ endpoints: [api] });
  });
  afterAll(() => client.close());

  const large = 'x'.repeat(1024 * 1024);
  const many = Array.from({ length: 1001 }, (_, i) => `many/${i}`);
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;

  const CALLS: readonly (readonly [string, ErrorCode, (client: IsochronClient) => Promise<unknown>])[] = [
    ['an unknown keyspace', 'KEYSPACE_UNKNOWN', (c) => c.keyspace('nowhere').get('a')],
    ['a write to an unknown keyspace', 'KEYSPACE_UNKNOWN', (c) => c.keyspace('nowhere').set('a', 1)],
    ['an invalid keyspace name', 'KEYSPACE_UNKNOWN', async (c) => c.keyspace('no/where')],
    ['an empty key', 'KEY_INVALID', (c) => c.get('')],
    ['a key over 1 KiB', 'KEY_INVALID', (c) => c.get('k'.repeat(1025))],
    ['a key over 1 KiB of UTF-8', 'KEY_INVALID', (c) => c.set('é'.repeat(513), 1)],
    ['a key that is not UTF-8', 'KEY_INVALID', (c) => c.set('\ud800', 1)],
    ['a value over the limit', 'VALUE_TOO_LARGE', (c) => c.set('a', large)],
    ['bytes over the limit', 'VALUE_TOO_LARGE', (c) => c.set('a', new Uint8Array(1024 * 1024 + 1))],
    ['undefined as a value', 'VALUE_INVALID', (c) => c.set('a', undefined)],
    ['a function as a value', 'VALUE_INVALID', (c) => c.set('a', () => 1)],
    ['a big integer as a value', 'VALUE_INVALID', (c) => c.set('a', { n: 1n })],
    ['a document that contains itself', 'VALUE_INVALID', (c) => c.set('a', cyclic)],
    ['more than 1,000 keys in a read', 'TOO_MANY_KEYS', (c) => c.getMany(many)],
    [
      'more than 1,000 keys in a transaction',
      'TOO_MANY_KEYS',
      (c) =>
        c.transaction((tx) => {
          for (const key of many) tx.set(key, 1);
        }),
    ],
    [
      'half of a transaction that is bad',
      'KEY_INVALID',
      (c) =>
        c.transaction((tx) => {
          tx.set('half', 1);
          tx.set('', 1);
        }),
    ],
    [
      'half of a transaction in an unknown keyspace',
      'KEYSPACE_UNKNOWN',
      (c) =>
        c.transaction((tx) => {
          tx.set('half', 1);
          tx.keyspace('nowhere').set('half', 1);
        }),
    ],
    ['a snapshot of the future', 'TIMESTAMP_IN_FUTURE', (c) => c.snapshot({ at: context.futureTimestamp })],
    [
      'a snapshot that is closed',
      'TRANSACTION_FINISHED',
      async (c) => {
        const snapshot = await c.snapshot();
        await snapshot.close();
        return snapshot.get('a');
      },
    ],
    [
      'a transaction that has ended',
      'TRANSACTION_FINISHED',
      async (c) => {
        const { result } = await c.transaction((tx) => ({ leaked: tx }));
        return result.leaked.get('a');
      },
    ],
    ['a listing of pages that are too large', 'INVALID_REQUEST', async (c) => c.list({ pageSize: 1001 })],
  ];

  it.each(CALLS)('through the SDK %s rejects with %s', async (_name, code, use) => {
    const error = await use(client).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code });
    expect(isIsochronError(error, code)).toBe(true);
  });

  it('through the SDK a transaction that stays open for too long rejects with TRANSACTION_EXPIRED, and writes nothing', async () => {
    const slow = client.transaction(async (tx) => {
      await tx.get('a');
      tx.set('expired', 1);
      const { openTransactions } = (await cluster.status('virginia-1')).node;
      expect(openTransactions).toBeGreaterThan(0);
      await until('it has expired', async () => (await cluster.status('virginia-1')).node.openTransactions === 0);
      await tx.get('b');
    });
    await expect(slow).rejects.toMatchObject({ code: 'TRANSACTION_EXPIRED' });
  });

  it.each<[string, ErrorCode, (context: BadInputContext) => string]>([
    ['a malformed token', 'TOKEN_INVALID', () => 'hello'],
    ['a forged token', 'TOKEN_INVALID', ({ token }) => forge(token)],
    ['a truncated token', 'TOKEN_INVALID', ({ token }) => token.slice(0, -4)],
    ['a token of another cluster', 'TOKEN_FOREIGN', ({ foreignToken }) => foreignToken],
    ['a token from the future', 'TIMESTAMP_IN_FUTURE', ({ futureToken }) => futureToken],
  ])('through the SDK %s rejects with %s', async (_name, code, pick) => {
    await expect(connect({ endpoints: [api], token: pick(context) })).rejects.toMatchObject({ code });
  });

  it.each<[string, string]>([
    ['invalid JSON', '{'],
    ['another object', '{"version":1}'],
    ['another version', '{"version":2,"token":"","ust":1,"hwt":1,"writes":[]}'],
    ['a damaged write', '{"version":1,"token":"","ust":1,"hwt":1,"writes":[["a"]]}'],
  ])('a session that is %s rejects with TOKEN_INVALID', async (_name, session) => {
    await expect(connect({ endpoints: [api], session })).rejects.toMatchObject({ code: 'TOKEN_INVALID' });
  });

  it.each<[string, ErrorCode, readonly string[]]>([
    ['no endpoint', 'INVALID_REQUEST', []],
    ['an endpoint that is not a URL', 'INVALID_REQUEST', ['here']],
    ['an endpoint without a listener', 'CONNECTION_LOST', ['http://127.0.0.1:1']],
  ])('through the SDK %s rejects with %s', async (_name, code, endpoints) => {
    await expect(connect({ endpoints, connectTimeoutMs: 2000 })).rejects.toMatchObject({ code });
  });
});

describe('on the command line', () => {
  const token = (text: string): string[] => {
    const file = join(cluster.folder, 'token');
    writeFileSync(file, text, { mode: 0o600 });
    return ['--token-file', file];
  };
  const at = () => ['--endpoint', api];
  const rows = Array.from({ length: 1001 }, (_, i) => `{"key":"k${i}","value":1}`).join('\n');

  const COMMANDS: readonly (readonly [string, string, () => readonly string[], string])[] = [
    ['an unknown keyspace', 'KEYSPACE_UNKNOWN', () => ['get', 'a', '--keyspace', 'nowhere', ...at()], ''],
    ['an empty key', 'KEY_INVALID', () => ['set', '', '1', ...at()], ''],
    ['a key over 1 KiB', 'KEY_INVALID', () => ['get', 'k'.repeat(1025), ...at()], ''],
    ['a missing key', 'KEY_NOT_FOUND', () => ['get', 'nothing/here', ...at()], ''],
    ['a value that is not JSON', 'VALUE_INVALID', () => ['set', 'a', '{', ...at()], ''],
    ['a value over the limit', 'VALUE_TOO_LARGE', () => ['set', 'a', '-', ...at()], `"${'x'.repeat(1024 * 1024)}"`],
    ['more than 1,000 keys', 'TOO_MANY_KEYS', () => ['commit', '-', ...at()], rows],
    [
      'rows of which one is bad',
      'VALUE_INVALID',
      () => ['commit', '-', ...at()],
      '{"key":"half","value":1}\n{"key":"a"}',
    ],
    ['an empty commit', 'INVALID_REQUEST', () => ['commit', '-', ...at()], '\n'],
    ['a malformed token', 'TOKEN_INVALID', () => ['get', 'a', ...token('hello'), ...at()], ''],
    ['a forged token', 'TOKEN_INVALID', () => ['get', 'a', ...token(forge(context.token)), ...at()], ''],
    ['a token of another cluster', 'TOKEN_FOREIGN', () => ['get', 'a', ...token(context.foreignToken), ...at()], ''],
    ['a token from the future', 'TIMESTAMP_IN_FUTURE', () => ['get', 'a', ...token(context.futureToken), ...at()], ''],
    [
      'a snapshot of the future',
      'TIMESTAMP_IN_FUTURE',
      () => ['get', 'a', '--at', `${context.futureTimestamp}`, ...at()],
      '',
    ],
    ['a file that is not there', 'ENOENT', () => ['import', '/nowhere/rows.jsonl', ...at()], ''],
    ['an endpoint without a listener', 'CONNECTION_LOST', () => ['status', '--endpoint', 'http://127.0.0.1:1'], ''],
    ['a cluster file that is not there', 'ENOENT', () => ['node', '--config', '/nowhere.yaml', '--node', 'a'], ''],
    [
      'a node that is not in the file',
      'CONFIG_INVALID',
      () => ['node', '--config', cluster.configFile, '--node', 'paris-1'],
      '',
    ],
    ['no secret', 'CONFIG_INVALID', () => ['node', '--config', cluster.configFile, '--node', 'virginia-1'], ''],
  ];

  it.each(COMMANDS)('a command with %s ends with exit code 1 and one line: %s', async (...[, code, args, stdin]) => {
    const result = await isochron(args(), { stdin });
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toMatch(new RegExp(`^error: ${code}: .+\n$`));
  });

  it.each<[string, readonly string[]]>([
    ['an unknown command', ['fly']],
    ['an unknown option', ['get', 'a', '--fast']],
    ['a missing argument', ['get']],
    ['an endpoint that is not a URL', ['get', 'a', '--endpoint', 'here']],
    ['a malformed number', ['list', '--limit', 'many']],
    ['a replication factor above the number of regions', ['dev', '--regions', 'a,b', '--replication', '3']],
  ])('a command with %s ends with exit code 2 and one line', async (_name, args) => {
    const result = await isochron(args);
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toMatch(/^error: .+\n$/);
  });

  it.each(BAD_FILES)('a cluster file with $name ends with exit code 1 and one line', async (bad) => {
    const file = join(cluster.folder, 'bad.yaml');
    writeFileSync(file, badFileText(bad));
    const args = ['--config', file, '--node', 'virginia-1', '--secret-file', cluster.secretFile];
    const result = await isochron(['node', ...args, '--data', join(cluster.folder, 'unused')]);
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toMatch(/^error: CONFIG_INVALID: .*bad\.yaml:\d+: .+\n$/);
    expect(result.stderr).toMatch(bad.reason);
  });
});

describe('at the peering port', () => {
  it.each<[string, (socket: WebSocket) => void]>([
    ['text', (socket) => socket.send('hello')],
    ['meaningless bytes', (socket) => socket.send(Buffer.from([0xc1, 0xff, 0x00]))],
    ['a message of another form', (socket) => socket.send(Buffer.from([0x93, 0xa8, 0x69, 0x01]))],
    ['more bytes than a handshake may have', (socket) => socket.send(Buffer.alloc(2 ** 20))],
    ['nothing', () => undefined],
  ])('the peering port closes the connection of a stranger that sends %s', async (_name, send) => {
    const socket = new WebSocket(cluster.node('virginia-1').peer);
    const closed = new Promise<number>((resolve) => socket.on('close', resolve));
    socket.on('error', () => undefined);
    socket.on('open', () => send(socket));
    expect(await within('the close', 15_000, closed)).toBeGreaterThan(1000);
  });

  it('bytes that are not a WebSocket handshake end a connection to the peering port', async () => {
    await sendBytes(cluster.node('virginia-1').peer, Buffer.alloc(4096, 0xff));
  });
});

describe('after all of this', () => {
  it(
    'after all bad input both nodes still run and serve',
    logged(async () => {
      expect(cluster.nodes.map(({ id }) => cluster.process(id).pid)).toEqual(pids);
      for (const { id, api: base } of cluster.nodes) {
        const put = await call(base, 'PUT', keyPath('good/last'), { body: { id } });
        expect(put.status).toBe(200);
        const { timestamp } = put.json as { timestamp: number };
        expect((await call(base, 'GET', `/v1/stable?ts=${timestamp}`)).status).toBe(200);
        expect((await cluster.status(id)).node.links.map(({ up }) => up)).toEqual([true]);
      }
    }),
  );

  it('after all bad input only the accepted writes are stored', async () => {
    const listed = await call(api, 'GET', '/v1/keyspaces/default/keys?limit=1000');
    const keys = (listed.json as { entries: { key: string }[] }).entries.map(({ key }) => key);
    expect(keys).toEqual(['good/finished', 'good/last', 'good/once']);
    await until('nothing is prepared or open', async () => {
      const all = await Promise.all(cluster.nodes.map(({ id }) => cluster.status(id)));
      return all.every(
        ({ node }) => node.openTransactions === 0 && node.partitions.every(({ prepared }) => prepared === 0),
      );
    });
  });

  it('after all bad input the nodes end in order', () => cluster.stop());
});
