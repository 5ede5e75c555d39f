import { TestNode, UST } from '@isochron/testing/sessions/served-node';

const QUEUE = { id: 'q'.repeat(22), n: 1, read: UST };
const ATTEMPT = { tx: 'session-of-tests.0', sentAfter: UST, attemptRegions: ['p'] };
const COMMIT = {
  ...ATTEMPT,
  type: 'commit',
  id: 1,
  snapshot: UST,
  hwt: 0,
  queue: QUEUE,
  writes: [{ key: 'default/a', value: '1' }],
};
const SETTLE = { ...ATTEMPT, type: 'settle', id: 2, queue: QUEUE, keys: ['default/a'] };

describe('a commit of a queue', () => {
  it('the coordinator gets the place of a commit in its queue, and the client a bound where that is the answer (OF1, OF2)', () => {
    const node = new TestNode();
    const { link, connection } = node.greeted();
    connection.receive(COMMIT);
    expect(node.posted).toMatchObject([{ type: 'CommitReq', queue: { id: QUEUE.id, n: 1 }, principal: 'anonymous' }]);
    const { ref } = node.posted[0]!;
    node.answer({ type: 'CommitResp', ref, txId: ATTEMPT.tx, ct: UST + 5, upTo: true });
    expect(link.frames).toMatchObject([{ type: 'committed', ts: UST + 5, upTo: true }]);
  });

  it.each<[string, object, string]>([
    ['an id that is too short', { ...QUEUE, id: 'q' }, 'INVALID_REQUEST'],
    ['an id with a slash', { ...QUEUE, id: `${'q'.repeat(21)}/` }, 'INVALID_REQUEST'],
    ['the number 0', { ...QUEUE, n: 0 }, 'INVALID_REQUEST'],
    ['a snapshot of the future', { ...QUEUE, read: UST * 2 }, 'TIMESTAMP_IN_FUTURE'],
  ])('a queue with %s is refused (OF1)', (_what, queue, code) => {
    const node = new TestNode();
    const { link, connection } = node.greeted();
    connection.receive([
      { ...COMMIT, queue },
      { ...SETTLE, queue },
    ]);
    expect(link.frames).toMatchObject([{ code }, { code }]);
    expect(node.posted).toEqual([]);
  });

  it('a protocol without counters refuses a queue, and no request names a counter (OF1)', () => {
    const node = new TestNode({}, new Set(['transactions']));
    const { link, connection } = node.greeted();
    connection.receive([COMMIT, SETTLE, { type: 'read', id: 3, keys: [`~/0/anonymous/${QUEUE.id}`] }]);
    const refused = [...Array<object>(2).fill({ code: 'NOT_SUPPORTED_BY_PROTOCOL' }), { code: 'KEYSPACE_UNKNOWN' }];
    expect(link.frames).toMatchObject(refused);
    expect(node.posted).toEqual([]);
  });
});

describe('the end of a commit', () => {
  const settle = () => {
    const node = new TestNode();
    const { link, connection } = node.greeted();
    connection.receive(SETTLE);
    expect(node.posted).toMatchObject([{ type: 'SettleCommitReq', txId: ATTEMPT.tx, keys: ['default/a'] }]);
    return { node, link, ref: node.posted[0]!.ref };
  };

  it.each([
    ['committed', UST + 5],
    ['without effect', null],
  ])('a settled transaction is %s (OF3)', (_what, ct) => {
    const { node, link, ref } = settle();
    node.answer({ type: 'SettleCommitResp', ref, txId: ATTEMPT.tx, ct });
    expect(link.frames).toMatchObject([{ type: 'settled', id: 2, ts: ct }]);
  });

  it('a deferred transaction that was committed again since is settled at its new timestamp (OF3, M8)', () => {
    const { node, link, ref } = settle();
    node.answer({ type: 'Refused', ref, code: 'OUTCOME_PENDING', detail: 'deferred' });
    expect(node.posted[1]).toMatchObject({ type: 'TxStatusReq', txId: ATTEMPT.tx });
    const again = node.posted[1]!.ref;
    node.answer({ type: 'TxStatusResp', ref: again, status: 'committed', ts: UST + 9, attempt: 1 });
    expect(link.frames).toMatchObject([{ type: 'settled', ts: UST + 9 }]);
  });

  it('while its outcome is not known, a transaction is not settled (OF3)', () => {
    const { node, link, ref } = settle();
    node.answer({ type: 'Refused', ref, code: 'OUTCOME_PENDING', detail: 'deferred' });
    node.answer({ type: 'TxStatusResp', ref: node.posted[1]!.ref, status: 'deferred', ts: null, attempt: 0 });
    expect(link.frames).toMatchObject([{ type: 'error', code: 'OUTCOME_PENDING' }]);
  });
});
