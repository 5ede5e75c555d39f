import { get } from 'node:http';
import { Update } from '@isochron/core';
import { TestAuthFile } from '../../../testing/issuer.js';
import { startApi, type TestAnswer, type TestApi } from '../../../testing/test-api.js';
import { TestCluster, testConfig } from '../../../testing/test-cluster.js';
import { digestOf, newApiKey } from '../../auth/api-keys.js';
import { decodeChangesCursor, encodeChangesCursor } from '../cursors/changes-cursor.js';

let api: TestApi;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

interface Message {
  readonly from: number;
  readonly to: number;
  readonly cursor: string;
  readonly transactions: { timestamp: number; writes: { keyspace: string; key: string }[] }[];
}

const messageOf = ({ text }: TestAnswer): Message => JSON.parse(text) as Message;
const read = async (query: string): Promise<Message> => messageOf(await api.call('GET', `/v1/changes${query}`));
const codeOf = async (query: string): Promise<unknown> => (await api.call('GET', `/v1/changes${query}`)).json().code;
const cursorAt = (ts: number, cluster = api.cluster.config.cluster): string =>
  encodeChangesCursor(cluster, { keyspace: null, prefix: '', ts });

/** Reads events of a stream until some have come. */
function events(path: string, count: number, headers: Record<string, string> = {}): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const request = get(`${api.url}${path}`, { headers: { accept: 'text/event-stream', ...headers }, agent: false });
    let text = '';
    request.on('response', (answer) => {
      answer.on('data', (chunk: Buffer) => {
        text += chunk.toString('utf8');
        const whole = text.split('\n\n').slice(0, -1);
        if (whole.length < count) return;
        request.destroy();
        resolve(whole);
      });
    });
    request.on('error', (error) => (text === '' ? reject(error) : undefined));
  });
}

describe('GET /v1/changes', () => {
  it('a request without a cursor is answered at once with the present end of the feed (CF4)', async () => {
    api.cluster.put('default/a', '1');
    api.cluster.stabilise();
    expect(await read('')).toMatchObject({ to: api.cluster.ust, transactions: [] });
  });

  it('a stream that is resumed goes on behind its last event, whatever beginning its URL names', async () => {
    api.cluster.put('default/a', '1');
    api.cluster.stabilise();
    const at = api.cluster.ust;
    const early = (await read('')).cursor;
    api.cluster.put('default/b', '2');
    api.cluster.stabilise();
    const { cursor } = await read('');
    api.cluster.put('default/c', '3');
    api.cluster.stabilise();
    for (const begin of [`?at=${at}`, `?since=${early}`, '']) {
      const [event] = await events(`/v1/changes${begin}`, 1, { 'last-event-id': cursor });
      const { transactions } = JSON.parse(/^data: (.*)$/m.exec(event!)![1]!) as Message;
      expect(transactions.map(({ writes }) => writes[0]!.key)).toEqual(['c']);
      const polled = await api.call('GET', `/v1/changes${begin}`, { headers: { 'last-event-id': cursor } });
      expect(messageOf(polled).transactions).toHaveLength(1);
    }
    expect(await codeOf(`?since=${early}&at=${at}`)).toBe('INVALID_REQUEST');
  });

  it.each([
    ['text/event-stream', true],
    ['text/event-stream, */*', true],
    ['application/x-ndjson;q=0.5, text/event-stream', true],
    ['application/x-ndjson, text/event-stream;q=0.5', false],
    ['text/event-stream;q=0', false],
    ['*/*', false],
    ['text/*', false],
  ])('a caller that accepts %s gets a stream: %s', async (accept, streams) => {
    const { type, cache } = await new Promise<{ type: unknown; cache: unknown }>((resolve, reject) => {
      const request = get(`${api.url}/v1/changes`, { headers: { accept }, agent: false }, ({ headers }) => {
        request.destroy();
        resolve({ type: headers['content-type'], cache: headers['cache-control'] });
      });
      request.on('error', reject);
    });
    expect(type).toContain(streams ? 'text/event-stream' : 'application/x-ndjson');
    // Proxies that compress leave such an answer alone: they would keep events back.
    expect(cache).toBe(streams ? 'no-store, no-transform' : 'no-store');
  });

  it('a request with a cursor gets the transactions behind it as a line of JSON (CF4)', async () => {
    const { cursor } = await read('');
    api.cluster.put('default/a', '{"n":1}');
    api.cluster.put('default/b', Uint8Array.of(1, 2));
    api.cluster.put('default/a', null);
    api.cluster.stabilise();
    const answer = await api.call('GET', `/v1/changes?since=${cursor}`);
    expect(answer.headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
    expect(answer.text.split('\n')).toHaveLength(2);
    const { transactions, cursor: next } = messageOf(answer);
    expect(transactions.map(({ writes }) => writes)).toEqual([
      [{ keyspace: 'default', key: 'a', value: { n: 1 } }],
      [{ keyspace: 'default', key: 'b', bytes: 'AQI=' }],
      [{ keyspace: 'default', key: 'a', delete: true }],
    ]);
    expect((await read(`?wait=50&since=${next}`)).transactions).toEqual([]);
  });

  it('with "values" an update has its document after the transaction, and with "before" each write the one before', async () => {
    api.cluster.put('default/a', '{"n":1}');
    api.cluster.put('default/b', Uint8Array.of(1, 2));
    api.cluster.stabilise();
    const { cursor } = await read('');
    api.cluster.put('default/a', new Update('[{"op":"increment","path":"/n","by":1}]'));
    api.cluster.put('default/b', null);
    api.cluster.put('default/c', 'null');
    api.cluster.put('default/a', '{"n":7}');
    api.cluster.stabilise();
    const writes = async (query: string) =>
      (await read(`?since=${cursor}${query}`)).transactions.flatMap((tx) => tx.writes);
    const update = { keyspace: 'default', key: 'a', operations: [{ op: 'increment', path: '/n', by: 1 }] };
    expect((await writes(''))[0]).toEqual(update);
    expect((await writes('&values=true'))[0]).toEqual({ ...update, value: { n: 2 } });
    expect((await writes('&values=true'))[3]).toEqual({ keyspace: 'default', key: 'a', value: { n: 7 } });
    expect(await writes('&before=true')).toEqual([
      { ...update, before: { n: 1 } },
      { keyspace: 'default', key: 'b', delete: true, beforeBytes: 'AQI=' },
      { keyspace: 'default', key: 'c', value: null },
      { keyspace: 'default', key: 'a', value: { n: 7 }, before: { n: 2 } },
    ]);
    const [event] = await events(`/v1/changes?since=${cursor}&values=true&before=true`, 1);
    expect(event).toContain('"value":{"n":2},"before":{"n":1}');
  });

  it('a cursor belongs to its cluster and its scope, and is refused elsewhere (CF2)', async () => {
    expect(await codeOf('?since=nonsense')).toBe('CURSOR_INVALID');
    expect(await codeOf(`?since=${cursorAt(5, 'another')}`)).toBe('CURSOR_INVALID');
    expect(await codeOf(`?keyspace=default&since=${cursorAt(5)}`)).toBe('CURSOR_INVALID');
    expect(await codeOf('?keyspace=unknown')).toBe('KEYSPACE_UNKNOWN');
    expect(await codeOf('?prefix=a')).toBe('INVALID_REQUEST');
    expect(await codeOf(`?since=${cursorAt(5)}&at=5`)).toBe('INVALID_REQUEST');
    expect(await codeOf('?wait=x')).toBe('INVALID_REQUEST');
  });

  it('a cursor of the future is refused (CF2)', async () => {
    expect(await codeOf(`?since=${cursorAt(2 ** 52)}`)).toBe('TIMESTAMP_IN_FUTURE');
  });

  it('a cursor keeps its timestamp and scope as a text', () => {
    const scope = { keyspace: 'default', prefix: 'a/é"' };
    expect(decodeChangesCursor(encodeChangesCursor('c', { ...scope, ts: 2 ** 45 }), 'c', scope)).toBe(2 ** 45);
  });

  it('a stream sends each message as an event whose id is the cursor behind it, and goes on from Last-Event-ID (CF4)', async () => {
    const { cursor } = await read('');
    api.cluster.put('default/a', '1');
    api.cluster.stabilise();
    const [first] = await events(`/v1/changes?since=${cursor}`, 1);
    const id = /^id: (.*)$/m.exec(first!)![1]!;
    const data = JSON.parse(/^data: (.*)$/m.exec(first!)![1]!) as Message;
    expect(data.cursor).toBe(id);
    expect(data.transactions).toHaveLength(1);
    api.cluster.put('default/b', '2');
    api.cluster.stabilise();
    const [second] = await events('/v1/changes', 1, { 'last-event-id': id });
    expect(second).toContain('"key":"b"');
    expect(second).not.toContain('"key":"a"');
  });

  it('waits for changes over HTTP are limited, together with those of sessions', async () => {
    const limited = await startApi({ limits: { feeds: 1 } });
    const query = `?wait=1000&since=${cursorAt(limited.cluster.ust, limited.cluster.config.cluster)}`;
    try {
      const answers = await Promise.all([1, 2].map(() => limited.call('GET', `/v1/changes${query}`)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 503]);
    } finally {
      await limited.close();
    }
  });

  it('there is no HEAD of the feed, which would follow it without a connection', async () => {
    const headers = { accept: 'text/event-stream' };
    expect((await api.call('HEAD', '/v1/changes?wait=0', { headers })).status).toBe(405);
  });

  it('protocols without a change feed refuse it with a code (CF4)', async () => {
    const wren = await startApi({ cluster: new TestCluster(testConfig('wren')) });
    const answer = await wren.call('GET', '/v1/changes');
    await wren.close();
    expect(answer.json().code).toBe('NOT_SUPPORTED_BY_PROTOCOL');
  });
});

describe('a reader of changes whose credentials end', () => {
  const key = newApiKey();
  const fileOf = (more: string): string =>
    `keys:\n  - { principal: ann, hash: ${digestOf(key)}, roles: [reader]${more} }\n`;
  const headers = { authorization: `Bearer ${key}` };
  let file: TestAuthFile;
  let guarded: TestApi;
  beforeEach(async () => {
    file = new TestAuthFile(fileOf(''));
    guarded = await startApi({ auth: file });
  });
  afterEach(() => guarded.close());

  /** A change comes for the reader. */
  const change = (): void => {
    guarded.cluster.put('default/a', '"secret"');
    guarded.cluster.stabilise();
  };

  it.each([
    ['revoked', () => file.write('keys: []\n')],
    ['given an expiry that has passed', () => file.write(fileOf(', expires: 2020-01-01'))],
  ])('a stream ends with UNAUTHENTICATED and without a further change when its key is %s (U1)', async (_how, end) => {
    const text = await new Promise<string>((resolve, reject) => {
      const request = get(`${guarded.url}/v1/changes`, {
        headers: { ...headers, accept: 'text/event-stream' },
        agent: false,
      });
      request.on('error', reject);
      request.on('response', (answer) => {
        let all = '';
        answer.once('data', () => {
          end();
          change();
        });
        answer.on('data', (chunk: Buffer) => {
          all += chunk.toString('utf8');
        });
        answer.on('end', () => resolve(all));
      });
    });
    expect(text).toContain('event: error\ndata: ');
    expect(text).toContain('"UNAUTHENTICATED"');
    expect(text).not.toContain('secret');
  });

  it('a long poll whose key is revoked while it waits is refused, and gets no change (U1)', async () => {
    const cursor = encodeChangesCursor(guarded.cluster.config.cluster, {
      keyspace: null,
      prefix: '',
      ts: guarded.cluster.ust,
    });
    const waiting = guarded.call('GET', `/v1/changes?wait=30000&since=${cursor}`, { headers });
    await new Promise((resolve) => setTimeout(resolve, 50));
    file.write('keys: []\n');
    change();
    const answer = await waiting;
    expect(answer.status).toBe(401);
    expect(answer.text).not.toContain('secret');
  });
});
