import { Update } from '@isochron/core';
import type { LiveResp } from '@isochron/protocols';
import { TestNode, UST } from '@isochron/testing/sessions/served-node';

const LIVE = { type: 'live', after: UST, waitMs: 1_000 };
const CHANGES = { type: 'changes', scope: 'default/', after: UST, waitMs: 1_000 };
const IN = { keys: ['default/a'] };
const RANGE = { start: 'default/a', end: 'default/b' };

let node: TestNode;
beforeEach(() => {
  node = new TestNode();
});

/** A greeted client that numbers its requests. */
function client() {
  const { link, connection } = node.greeted();
  let id = 0;
  return { link, connection, send: (frame: object) => connection.receive({ id: ++id, ...frame }), frames: link.frames };
}

const lastRef = (): number => node.posted.at(-1)!.ref;
const answer = (to: number, changes: LiveResp['changes'] = [], ref = lastRef()) =>
  node.answer({ type: 'LiveResp', ref, to, changes });

describe('a request for the changes of watched scopes', () => {
  it('scopes go to the feeds of the node under the number of the connection, and stay there (LQ4)', () => {
    const { send } = client();
    send({
      ...LIVE,
      add: [
        { watch: 1, ...IN },
        { watch: 2, ...RANGE },
      ],
    });
    send({ ...LIVE, remove: [1], add: [{ watch: 3, keys: ['default/b'] }] });
    expect(node.posted).toMatchObject([
      {
        type: 'LiveReq',
        after: UST,
        waitMs: 1_000,
        add: [
          { watch: 1, keys: ['default/a'], ranges: [] },
          { watch: 2, keys: [], ranges: [RANGE] },
        ],
        remove: [],
      },
      { type: 'LiveReq', add: [{ watch: 3, keys: ['default/b'], ranges: [] }], remove: [1] },
    ]);
    const readers = node.posted.map((request) => (request as { reader?: number }).reader);
    expect(readers[0]).toBe(readers[1]);
  });

  it('an answer has the contents of each key, and the token that covers it (LQ4, LQ5)', () => {
    const { send, frames } = client();
    send({ ...LIVE, add: [{ watch: 1, ...IN }] });
    const contents = [
      { ct: UST + 1, txId: 't1', content: '{"n":1}' },
      { ct: UST + 2, txId: 't2', content: new Update('[{"op":"increment","path":"/n","by":1}]') },
    ];
    answer(UST + 3, [
      { key: 'default/a', contents },
      { key: 'default/b', contents: [{ ct: UST + 1, txId: 't1', content: null }] },
    ]);
    expect(frames).toEqual([
      {
        type: 'live',
        id: 1,
        to: UST + 3,
        changes: [
          [
            'default/a',
            [
              [UST + 1, 't1', '{"n":1}'],
              [UST + 2, 't2', { operations: '[{"op":"increment","path":"/n","by":1}]' }],
            ],
          ],
          ['default/b', [[UST + 1, 't1', null]]],
        ],
        token: expect.any(String),
      },
    ]);
    const { token } = frames[0] as { token: string };
    expect(node.tokens.decode(token, UST + 10).seen.ts).toBe(UST + 3);
  });

  it('an answer that does not go beyond the claim of its client gives no token for that claim (LQ5)', () => {
    const { send, frames } = client();
    send({ ...LIVE, after: UST + 5, add: [{ watch: 1, ...IN }] });
    answer(UST + 5);
    expect(frames).toEqual([{ type: 'live', id: 1, to: UST + 5, changes: [] }]);
  });

  it('requests that wait do not hold up others, and take one credit each', () => {
    const { send, frames } = client();
    send({ ...LIVE, add: [{ watch: 1, ...IN }] });
    send(CHANGES);
    send({ type: 'ping' });
    expect(frames).toEqual([{ type: 'pong', id: 3 }]);
    for (let i = 0; i < 260; i++) send({ ...CHANGES });
    expect(frames.filter((frame) => 'code' in frame && frame.code === 'CREDITS_EXHAUSTED').length).toBe(260 - 254);
  });

  it('a client that only waits for changes gets stable time as seldom as an idle one', () => {
    const { send, frames } = client();
    send({ ...LIVE, add: [{ watch: 1, ...IN }] });
    for (let second = 0; second < 80; second++) {
      node.ust++;
      node.sessions.tick(false);
    }
    expect(frames.filter(({ type }) => type === 'ust').length).toBeLessThan(20);
  });

  it('a client that gets a change each second, and asks for the next one, gets stable time as seldom as an idle one', () => {
    const { send, frames } = client();
    send({ ...LIVE, add: [{ watch: 1, ...IN }] });
    for (let second = 0; second < 80; second++) {
      node.ust++;
      answer(node.ust);
      send(LIVE);
      node.ust++;
      node.sessions.tick(false);
    }
    expect(frames.filter(({ type }) => type === 'live')).toHaveLength(80);
    const count = () => frames.filter(({ type }) => type === 'ust').length;
    const before = count();
    expect(before).toBeLessThan(20);
    // Any other request: its client gets it each second again.
    send({ type: 'ping' });
    for (let second = 0; second < 5; second++) {
      node.ust++;
      node.sessions.tick(false);
    }
    expect(count()).toBe(before + 5);
  });

  it('a node that is about to close ends the requests that wait for changes at once, and takes no new ones', () => {
    const { send, frames } = client();
    send({ ...LIVE, add: [{ watch: 1, ...IN }] });
    send(CHANGES);
    node.serving.leave();
    expect(frames).toMatchObject([1, 2].map((id) => ({ type: 'error', id, code: 'NOT_READY', retryable: true })));
    answer(UST + 1);
    send(LIVE);
    expect(frames.slice(2)).toMatchObject([{ type: 'error', id: 3, code: 'NOT_READY' }]);
  });

  it('the feeds of the node receive that the reader of a lost connection is gone', () => {
    const { send, connection } = client();
    const { connection: other } = client();
    send({ ...LIVE, add: [{ watch: 1, ...IN }] });
    const { reader } = node.posted[0] as { reader?: number };
    connection.disconnected();
    other.disconnected();
    expect(node.posted.slice(1)).toMatchObject([{ type: 'LiveEnd', reader }]);
  });

  it.each<[string, object, string]>([
    ['of a time in the future', { after: 2 ** 52 }, 'TIMESTAMP_IN_FUTURE'],
    ['without a position', { after: undefined }, 'INVALID_REQUEST'],
    ['that waits for hours', { waitMs: 3_600_000 }, 'INVALID_REQUEST'],
    ['of no keys', { add: [{ watch: 1, keys: [] }] }, 'INVALID_REQUEST'],
    ['of keys and a range', { add: [{ watch: 1, ...IN, ...RANGE }] }, 'INVALID_REQUEST'],
    ['of neither keys nor a range', { add: [{ watch: 1 }] }, 'INVALID_REQUEST'],
    ['of a range without an end', { add: [{ watch: 1, start: 'default/a' }] }, 'INVALID_REQUEST'],
    ['of a range that ends where it begins', { add: [{ watch: 1, ...RANGE, end: RANGE.start }] }, 'INVALID_REQUEST'],
    ['of a range over keyspaces', { add: [{ watch: 1, ...RANGE, end: 'default1' }] }, 'INVALID_REQUEST'],
    ['of an unknown keyspace', { add: [{ watch: 1, keys: ['nowhere/a'] }] }, 'KEYSPACE_UNKNOWN'],
    ['of a range of an unknown keyspace', { add: [{ watch: 1, start: 'no/a', end: 'no/b' }] }, 'KEYSPACE_UNKNOWN'],
    ['of a range without a keyspace', { add: [{ watch: 1, start: 'a', end: 'b' }] }, 'KEY_INVALID'],
    [
      'of a bound that is too long',
      { add: [{ watch: 1, ...RANGE, end: `default/${'b'.repeat(100)}` }] },
      'KEY_INVALID',
    ],
    ['of an empty key', { add: [{ watch: 1, keys: ['default/'] }] }, 'KEY_INVALID'],
    ['of a number above 2^32', { add: [{ watch: 2 ** 32, ...IN }] }, 'INVALID_REQUEST'],
    [
      'of one number twice',
      {
        add: [
          { watch: 1, ...IN },
          { watch: 1, ...RANGE },
        ],
      },
      'WATCH_REUSED',
    ],
    [
      'of more than 1,000 scopes',
      { add: Array.from({ length: 1_001 }, (_, watch) => ({ watch, ...IN })) },
      'TOO_MANY_WATCHES',
    ],
    [
      'of more than 10,000 keys',
      { add: [1, 2].map((watch) => ({ watch, keys: Array.from({ length: 5_001 }, (_, i) => `default/${i}`) })) },
      'TOO_MANY_WATCHES',
    ],
  ])('a request %s is refused, and changes no scope', (_what, fields, code) => {
    const { send, frames } = client();
    send({ ...LIVE, ...fields });
    expect(frames).toMatchObject([{ type: 'error', id: 1, code }]);
    expect(node.posted).toEqual([]);
    send({ ...LIVE, add: [{ watch: 1, ...IN }] });
    expect(frames).toHaveLength(1);
  });

  it('a scope may have a number again once it is removed, and unknown numbers are ignored', () => {
    const { send, frames } = client();
    send({ ...LIVE, add: [{ watch: 1, ...IN }] });
    send({ ...LIVE, add: [{ watch: 1, ...IN }] });
    expect(frames).toMatchObject([{ id: 2, code: 'WATCH_REUSED' }]);
    send({ ...LIVE, remove: [1, 7], add: [{ watch: 1, ...RANGE }] });
    expect(frames).toHaveLength(1);
  });

  it('a connection whose reader the node did not take has no scopes', () => {
    const { send, frames } = client();
    send({ ...LIVE, add: [{ watch: 1, ...IN }] });
    node.answer({ type: 'Refused', ref: lastRef(), code: 'OVERLOADED', detail: 'full' });
    send({ ...LIVE, add: [{ watch: 1, ...IN }] });
    expect(frames).toMatchObject([{ id: 1, code: 'OVERLOADED', retryable: true }]);
    expect(node.posted).toHaveLength(2);
  });

  it('waits for changes are limited for all clients of the node', () => {
    node = new TestNode({ feeds: 1 });
    const { send, frames } = client();
    send(CHANGES);
    send(CHANGES);
    expect(frames).toMatchObject([{ id: 2, code: 'OVERLOADED' }]);
    node.answer({ type: 'ChangesResp', ref: node.posted[0]!.ref, from: UST, to: UST, transactions: [] });
    send(CHANGES);
    expect(node.posted).toHaveLength(2);
  });
});

describe('a request for a page of the change feed', () => {
  it('an answer has the transactions of the page, and the token that covers it (CF1, LQ5)', () => {
    const { send, frames } = client();
    send({ ...CHANGES, limitBytes: 1_000 });
    expect(node.posted).toMatchObject([
      { type: 'ChangesReq', prefix: 'default/', after: UST, waitMs: 1_000, limitBytes: 1_000 },
    ]);
    const writes = [
      { key: 'default/a', value: new Uint8Array([1]) },
      { key: 'default/b', value: new Update('[]') },
    ];
    const transactions = [{ txId: 't1', ct: UST + 1, writes }];
    node.answer({ type: 'ChangesResp', ref: lastRef(), from: UST, to: UST + 2, transactions });
    expect(frames).toEqual([
      {
        type: 'changes',
        id: 1,
        from: UST,
        to: UST + 2,
        transactions: [
          {
            tx: 't1',
            ts: UST + 1,
            writes: [
              { key: 'default/a', value: new Uint8Array([1]) },
              { key: 'default/b', value: { operations: '[]' } },
            ],
          },
        ],
        token: expect.any(String),
      },
    ]);
  });

  it('with "values" and "before" writes have the documents after updates, and those before, or a mark', () => {
    const { send, frames } = client();
    send({ ...CHANGES, values: true, before: true });
    const writes = [
      { key: 'default/a', value: new Update('[]') },
      { key: 'default/b', value: null },
    ];
    const transactions = [{ txId: 't1', ct: UST, writes }];
    node.answer({ type: 'ChangesResp', ref: lastRef(), from: UST - 1, to: UST, transactions });
    const [, after, before] = node.posted;
    expect([after, before]).toMatchObject([
      { type: 'ReadReq', at: UST, keys: ['default/a'] },
      { type: 'ReadReq', at: UST - 1, keys: ['default/a', 'default/b'] },
    ]);
    node.answerRead(after!);
    node.answer({ type: 'Refused', ref: before!.ref, code: 'SNAPSHOT_TOO_OLD', detail: 'collected' });
    const [frame] = frames;
    expect(frame?.type === 'changes' && frame.transactions.map(({ writes }) => writes)).toEqual([
      [
        { key: 'default/a', value: { operations: '[]' }, after: '"default/a"', beforeGone: true },
        { key: 'default/b', value: null, beforeGone: true },
      ],
    ]);
  });

  it('a reader whose log is gone gets CHANGES_GONE (CF2)', () => {
    const { send, frames } = client();
    send(CHANGES);
    node.answer({ type: 'Refused', ref: lastRef(), code: 'CHANGES_GONE', detail: 'The log begins at 7.' });
    expect(frames).toMatchObject([{ id: 1, code: 'CHANGES_GONE', retryable: false }]);
  });

  it.each<[string, object, string]>([
    ['after a time in the future', { after: 2 ** 52 }, 'TIMESTAMP_IN_FUTURE'],
    ['without a position', { after: undefined }, 'INVALID_REQUEST'],
    ['without a scope', { scope: undefined }, 'INVALID_REQUEST'],
    ['of no bytes', { limitBytes: 0 }, 'INVALID_REQUEST'],
  ])('a request %s is refused', (_what, fields, code) => {
    const { send, frames } = client();
    send({ ...CHANGES, ...fields });
    expect(frames).toMatchObject([{ type: 'error', id: 1, code }]);
    expect(node.posted).toEqual([]);
  });
});

it('a protocol without changes refuses both requests with the code for that', () => {
  node = new TestNode({}, new Set(['transactions', 'stable']));
  const { send, frames } = client();
  send(LIVE);
  send(CHANGES);
  expect(frames).toMatchObject([1, 2].map((id) => ({ id, code: 'NOT_SUPPORTED_BY_PROTOCOL' })));
});
