import { Update } from '@isochron/core';
import { TestNode, UST } from '@isochron/testing/sessions/served-node';

const OPERATIONS = '[{"op":"increment","path":"/n","by":1}]';
const ORDER = { type: 'commit', id: 1, tx: 'session-of-tests.0', snapshot: UST, hwt: 0, sentAfter: UST };

let node: TestNode;
beforeEach(() => {
  node = new TestNode();
});

const commit = (...values: readonly unknown[]) => {
  const { link, connection } = node.greeted();
  const writes = values.map((value, i) => ({ key: `default/${i}`, value }));
  connection.receive({ ...ORDER, attemptRegions: ['p'], writes });
  return link.frames;
};

describe('a commit', () => {
  it('a commit carries the operations of an update to the coordinator in their normal form', () => {
    commit({ operations: ` ${OPERATIONS}` }, '1');
    expect(node.posted).toMatchObject([{ type: 'CommitReq' }]);
    expect((node.posted[0] as { writes?: unknown }).writes).toEqual([
      { key: 'default/0', value: new Update(OPERATIONS) },
      { key: 'default/1', value: '1' },
    ]);
  });

  it.each<[string, unknown, string]>([
    ['operations of an unknown kind', { operations: '[{"op":"boil","path":""}]' }, 'UPDATE_INVALID'],
    ['operations that are no JSON', { operations: '[' }, 'VALUE_INVALID'],
    ['operations that are no text', { operations: [] }, 'VALUE_INVALID'],
    ['operations that are too large', { operations: `[${' '.repeat(1000)}]` }, 'VALUE_TOO_LARGE'],
    ['a value 200 levels deep', { operations: `${'['.repeat(200)}${']'.repeat(200)}` }, 'VALUE_INVALID'],
    ['a lone surrogate', { operations: '[{"op":"init","value":"\ud800"}]' }, 'VALUE_INVALID'],
  ])('a commit with %s is refused whole', (_what, value, code) => {
    expect(commit('1', value)).toMatchObject([{ type: 'error', id: 1, code }]);
    expect(node.posted).toEqual([]);
  });
});

describe('the origin of a document', () => {
  const ask = (frame: object, version: object | null) => {
    const { link, connection } = node.greeted();
    connection.receive({ type: 'origin', id: 1, key: 'default/a', at: UST, tx: 'tx-of-a-claim-16.1', ...frame });
    const [request] = node.posted;
    if (request?.type === 'ReadReq') {
      const versions = [version as never];
      node.answer({ type: 'ReadResp', ref: request.ref, snapshot: request.at ?? 0, versions });
    }
    return link.frames;
  };

  it('the origin of a document is the version that made it, which is not always the newest one', () => {
    const version = { ts: UST, txId: 'b', region: 'p', value: '{"n":2}', origin: { ts: UST - 1, txId: 'a' } };
    expect(ask({}, version)).toEqual([{ type: 'origin', id: 1, value: [UST, '{"n":2}'], origin: [UST - 1, 'a'] }]);
    expect(node.posted).toMatchObject([{ txId: null, at: UST, keys: ['default/a'] }]);
  });

  it('the origin of a document that was put is the put, and an absent document has none', () => {
    expect(ask({}, { ts: UST, txId: 'a', region: 'p', value: '1' })).toMatchObject([{ origin: [UST, 'a'] }]);
    node = new TestNode();
    expect(ask({}, null)).toEqual([{ type: 'origin', id: 1, value: null, origin: null }]);
    node = new TestNode();
    expect(ask({}, { ts: UST, txId: 'a', region: 'p', value: null })).toMatchObject([{ value: null, origin: null }]);
  });

  it.each<[string, object, string]>([
    ['without a key', { key: undefined }, 'INVALID_REQUEST'],
    ['without a snapshot', { at: undefined }, 'INVALID_REQUEST'],
    ['of the future', { at: 2 ** 52 }, 'TIMESTAMP_IN_FUTURE'],
    ['of an unknown keyspace', { key: 'nowhere/a' }, 'KEYSPACE_UNKNOWN'],
  ])('a request for the origin of a document %s is refused', (_what, fields, code) => {
    expect(ask(fields, null)).toMatchObject([{ type: 'error', code }]);
  });
});
