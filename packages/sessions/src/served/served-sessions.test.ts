import { HLC_TICKS_PER_MS, type Timestamp } from '@isochron/core';
import { type TestLink, TestNode, UST } from '@isochron/testing/sessions/served-node';
import { type ClientFrame, SESSION_CLOSE } from '@isochron/wire/session-frames';
import { CREDITS } from './served-connection.js';

const KEYS = ['default/a'];
const WRITES = [{ key: 'default/a', value: '1' }];
const COMMIT = { type: 'commit', snapshot: UST, hwt: 0, sentAfter: UST, attemptRegions: ['p'], writes: WRITES };
const TX = ['session-of-tests.0', 'session-of-tests.1', 'session-of-tests.2'] as const;
const codes = ({ frames }: TestLink) => frames.map((frame) => ('code' in frame ? frame.code : frame.type));

let node: TestNode;
beforeEach(() => {
  node = new TestNode();
});

describe('a connection', () => {
  it('a connection is welcomed once, with what the client needs, and its deadline for hello ends', () => {
    const { link, connection } = node.connect();
    expect(node.timers.count).toBe(1);
    connection.receive({ type: 'hello' });
    expect(link.frames).toEqual([
      {
        type: 'welcome',
        region: 'p',
        node: 'p-1',
        cluster: 'testing',
        protocol: 'paris',
        capabilities: [
          'transactions',
          'stable',
          'stable-snapshots',
          'changes',
          'live-queries',
          'updates',
          'write-counters',
        ],
        ust: UST,
        hwt: 0,
        token: node.tokens.mint({ seen: { ts: UST }, hwt: 0 }),
        freshness: node.freshness,
        credits: CREDITS,
        limits: expect.objectContaining({ maxKeysPerRequest: 10 }),
        maxTransactionMs: 1_000,
        stalenessAlertMs: 10_000,
        regions: [{ id: 'p', endpoints: ['http://p-1'] }],
      },
    ]);
    expect(node.timers.count).toBe(0);
  });

  it('a client gets the cuts of the maps above that of its token, and new ones with the map; a new client none (M10)', () => {
    node.map = 2;
    node.cuts = [1, 2, 3].map((map) => ({ map, horizon: UST - 4 + map, nodes: [map] }));
    const hello = (token?: string) => {
      const { link, connection } = node.connect();
      connection.receive({ type: 'hello', token });
      return { link, connection };
    };
    const { link, connection } = hello(node.tokens.mintPlain({ ts: UST - 9 }, UST - 1, '', 0));
    // Stable time has passed its last write, which may be deferred all the same.
    expect(link.frames).toMatchObject([{ type: 'welcome', map: 2, hwt: UST - 1, cuts: node.cuts.slice(0, 2) }]);
    expect(hello().link.frames[0]).not.toHaveProperty('cuts');
    node.map = 3;
    connection.receive({ type: 'ping', id: 1 });
    expect(link.frames[1]).toMatchObject({ type: 'ust', map: 3, cuts: node.cuts.slice(2) });
  });

  it('a token names the map of a last write that may be deferred, until a snapshot has the write (M10)', () => {
    node.map = 2;
    node.cuts = [{ map: 2, horizon: UST - 2, nodes: [1] }];
    const { link, connection } = node.connect();
    connection.receive({ type: 'hello', token: node.tokens.mintPlain({ ts: UST - 9 }, UST - 1, '', 1) });
    const named = (): unknown[] =>
      link.frames.flatMap((frame) => ('token' in frame ? (node.tokens.decode(`${frame.token}`, UST).map ?? 0) : []));
    expect(named()).toEqual([1]);
    node.answersAtOnce = true;
    for (const [id, ust] of [UST - 2, UST].entries()) {
      node.ust = ust;
      connection.receive({ type: 'read', id: id + 1, keys: KEYS });
    }
    expect(named()).toEqual([1, 1, 2]);
  });

  it('a client gets the version of the map with its welcome, and a new one before any other frame (M6)', () => {
    node.map = 2;
    const { link, connection } = node.connect();
    connection.receive({ type: 'hello' });
    expect(link.frames).toMatchObject([{ type: 'welcome', map: 2 }]);
    node.map = 3;
    connection.receive({ type: 'ping', id: 1 });
    connection.receive({ type: 'ping', id: 2 });
    expect(link.frames.slice(1)).toMatchObject([
      { type: 'ust', ust: UST, map: 3 },
      { type: 'pong', id: 1 },
      { type: 'pong', id: 2 },
    ]);
  });

  it('a commit names the map of each attempt, or none (M6, D4)', () => {
    const { link, connection } = node.greeted();
    const commit = { ...COMMIT, attemptRegions: ['p', 'p'], avoids: [[], []] };
    connection.receive({ ...commit, id: 1, tx: TX[0], maps: [0, 3] });
    connection.receive({ ...commit, id: 2, tx: TX[1], maps: [3] });
    expect(node.posted).toMatchObject([{ type: 'CommitReq', maps: [0, 3] }]);
    expect(codes(link)).toEqual(['INVALID_REQUEST']);
  });

  it('a connection without a hello in time is closed', () => {
    const { link } = node.connect();
    node.timers.runAll();
    expect(codes(link)).toEqual(['UNAUTHENTICATED']);
    expect(link.closed).toEqual({ code: SESSION_CLOSE.unauthenticated, reason: 'UNAUTHENTICATED' });
  });

  it('a connection is refused by a node that is not ready, and by one that leaves', () => {
    node.isReady = false;
    const early = node.connect();
    early.connection.receive({ type: 'hello' });
    expect([codes(early.link), early.link.closed?.code]).toEqual([['NOT_READY'], SESSION_CLOSE.restart]);
    node.isReady = true;
    node.serving.leave();
    const late = node.connect();
    late.connection.receive({ type: 'hello' });
    expect(late.link.closed?.code).toBe(SESSION_CLOSE.restart);
  });

  it('a connection answers in the order in which the coordinator does, several frames of one message too', () => {
    const { link, connection } = node.greeted();
    connection.receive([
      { type: 'read', id: 1, keys: KEYS },
      { type: 'read', id: 2, keys: KEYS },
      { type: 'ping', id: 3 },
    ]);
    for (const request of [...node.posted].reverse()) node.answerRead(request);
    expect(link.frames.map((frame) => 'id' in frame && frame.id)).toEqual([3, 2, 1]);
    expect(link.frames[1]).toEqual({ type: 'values', id: 2, snapshot: UST, values: [[UST, '"default/a"']] });
  });

  it('a connection gets its credits back when a request is answered, and when one is refused', () => {
    const { link, connection } = node.greeted();
    const read = (id: number, keys: unknown = KEYS) => connection.receive({ type: 'read', id, keys });
    for (let id = 1; id <= CREDITS; id++) read(id);
    read(CREDITS + 1);
    expect(codes(link)).toEqual(['CREDITS_EXHAUSTED']);
    node.answerRead(node.posted[0]!);
    read(CREDITS + 2, 'no list');
    read(CREDITS + 3);
    read(CREDITS + 4);
    expect(codes(link).slice(1)).toEqual(['values', 'INVALID_REQUEST', 'CREDITS_EXHAUSTED']);
    expect(node.posted).toHaveLength(CREDITS + 1);
  });

  it('a connection grants no more requests in one message than its credits, however fast they are answered', () => {
    const { link, connection } = node.greeted();
    node.answersAtOnce = true;
    const reads = (first: number, count: number) =>
      Array.from({ length: count }, (_, i) => ({ type: 'read', id: first + i, keys: KEYS }));
    connection.receive(reads(1, CREDITS + 2));
    connection.receive(reads(1_000, CREDITS));
    const refused = link.frames.filter((frame) => frame.type === 'error');
    expect(refused).toMatchObject([{ code: 'CREDITS_EXHAUSTED' }, { code: 'CREDITS_EXHAUSTED' }]);
    expect(link.frames).toHaveLength(2 * CREDITS + 2);
  });

  it('a connection refuses an id that is not above the last one and an unknown type, and goes on', () => {
    const { link, connection } = node.greeted();
    connection.receive([
      { type: 'ping', id: 5 },
      { type: 'ping', id: 5 },
      { type: 'nonsense', id: 6 },
      { type: 'ping', id: 7 },
    ]);
    expect(codes(link)).toEqual(['pong', 'REQUEST_ID_REUSED', 'FRAME_TYPE_UNKNOWN', 'pong']);
    expect(link.closed).toBeUndefined();
  });

  const tooMany = Array.from({ length: 2 * CREDITS + 1 }, (_, i) => ({ type: 'ping', id: i + 1 }));
  it.each([
    ['a request without an id', { type: 'ping' }, 'FRAME_INVALID'],
    ['an unknown type without an id', { type: 'nonsense' }, 'FRAME_TYPE_UNKNOWN'],
    ['a frame that is no object', [[]], 'FRAME_INVALID'],
    ['more frames in a message than its credits could ever need', tooMany, 'FRAME_INVALID'],
  ])('a connection is closed by %s', (_, message, code) => {
    const { link, connection } = node.greeted();
    connection.receive(message);
    connection.receive({ type: 'ping', id: 1_000 });
    expect(codes(link)).toEqual([code]);
    expect(link.closed).toEqual({ code: SESSION_CLOSE.protocolError, reason: code });
  });

  it('a connection is closed by a message that is too large, or that cannot be decoded', () => {
    const large = node.greeted();
    large.connection.receiveTooLarge();
    expect([codes(large.link), large.link.closed?.code]).toEqual([['REQUEST_TOO_LARGE'], SESSION_CLOSE.tooLarge]);
    const broken = node.greeted();
    broken.connection.receiveUndecodable();
    expect([codes(broken.link), broken.link.closed?.code]).toEqual([['FRAME_INVALID'], SESSION_CLOSE.protocolError]);
  });

  it('a connection reports a fault of the server without its details, and gives the cause to the log', () => {
    const { link, connection } = node.greeted();
    connection.receive({ type: 'read', id: 1, keys: KEYS });
    const { ref } = node.posted[0]!;
    // An answer that no coordinator gives.
    node.answer({ type: 'ReadResp', ref, snapshot: UST, versions: null as never });
    expect(link.frames).toMatchObject([{ type: 'error', id: 1, code: 'INTERNAL', retryable: true }]);
    expect(node.failures).toEqual([expect.any(TypeError)]);
  });

  it('a connection is sent nothing after its link is gone, though its requests still end', () => {
    const { link, connection } = node.greeted();
    connection.receive({ type: 'read', id: 1, keys: KEYS });
    connection.disconnected();
    expect(node.sessions.size).toBe(0);
    node.answerRead(node.posted[0]!);
    expect(link.frames).toEqual([]);
  });
});

describe('a timestamp that a client names', () => {
  const FAR: Timestamp = UST + 3_600_000 * HLC_TICKS_PER_MS;
  const COMMIT_AT_FAR: ClientFrame = {
    type: 'commit',
    id: 2,
    tx: 'sssssssssssssssss.1',
    snapshot: FAR,
    hwt: 0,
    sentAfter: 0,
    attemptRegions: ['p'],
    writes: WRITES,
  };

  it("a client's timestamp far ahead of the node's clock is refused, in tokens and in requests (T1)", () => {
    const early = node.connect();
    early.connection.receive({ type: 'hello', token: node.tokens.mint({ seen: { ts: FAR }, hwt: 0 }) });
    expect(codes(early.link)).toEqual(['TIMESTAMP_IN_FUTURE']);
    const { link, connection } = node.greeted();
    connection.receive([{ type: 'stable', id: 1, ts: FAR }, COMMIT_AT_FAR]);
    expect(codes(link)).toEqual(['TIMESTAMP_IN_FUTURE', 'TIMESTAMP_IN_FUTURE']);
  });

  it("a client's timestamp that the node has seen itself is accepted, however far ahead of the clock (T1)", () => {
    node.hlc = FAR;
    const { link, connection } = node.connect();
    connection.receive({ type: 'hello', token: node.tokens.mint({ seen: { ts: FAR }, hwt: 0 }) });
    connection.receive(COMMIT_AT_FAR);
    expect([codes(link), node.posted.map(({ type }) => type)]).toEqual([['welcome'], ['CommitReq']]);
  });
});

describe('the sessions of a node', () => {
  it('sessions are sent the stable time that they do not have, and all of them a change of freshness', () => {
    const { link, connection } = node.greeted();
    const paused = node.greeted();
    paused.link.isPaused = true;
    node.sessions.tick(false);
    expect(link.frames).toEqual([]);
    node.ust = UST + 5;
    node.sessions.tick(false);
    node.sessions.tick(false);
    expect(link.frames).toEqual([{ type: 'ust', ust: UST + 5, freshness: node.freshness }]);
    node.sessions.tick(true);
    expect(codes(link)).toEqual(['ust', 'ust']);
    // A read has sent this one already.
    node.ust = UST + 9;
    connection.receive({ type: 'read', id: 1, keys: KEYS });
    node.answerRead(node.posted[0]!);
    node.sessions.tick(false);
    expect(codes(link)).toEqual(['ust', 'ust', 'values']);
    expect(paused.link.frames).toEqual([]);
  });

  it('sessions are sent the stable time each second while they are in use, and once in eight seconds while they idle', () => {
    const { link, connection } = node.greeted();
    const sentIn = (rounds: number): number => {
      const before = link.frames.length;
      for (let round = 0; round < rounds; round++) {
        node.ust++;
        node.sessions.tick(false);
      }
      return link.frames.length - before;
    };
    expect(sentIn(5)).toBe(5);
    expect(sentIn(11)).toBe(2);
    connection.receive({ type: 'read', id: 1, keys: KEYS });
    expect(sentIn(20)).toBe(20);
    node.answerRead(node.posted[0]!);
    connection.receive({ type: 'ping', id: 2 });
    expect(sentIn(8)).toBe(6);
  });

  it('sessions wait for stable time no longer than the node stays', () => {
    const { link, connection } = node.greeted();
    connection.receive([
      { type: 'stable', id: 1, ts: UST },
      { type: 'stable', id: 2, ts: UST + 1 },
      { type: 'stable', id: 3, ts: UST + 9 },
    ]);
    node.waiters.advance(UST + 1);
    node.serving.leave();
    node.waiters.advance(UST + 9);
    expect(codes(link)).toEqual(['stable', 'stable', 'NOT_READY']);
  });

  it('sessions of a node that leaves are sent elsewhere and served until they have gone, or until the time is over', () => {
    const [first, second] = [node.greeted(), node.greeted()];
    const silent = node.connect();
    let left = 0;
    node.sessions.leave(1_000, () => left++);
    expect(first.link.frames).toEqual([{ type: 'goaway', reason: expect.any(String), delayMs: 3_000 }]);
    expect([codes(silent.link), silent.link.closed?.code]).toEqual([['NOT_READY'], SESSION_CLOSE.restart]);
    first.connection.receive({ type: 'ping', id: 1 });
    expect(codes(first.link)).toEqual(['goaway', 'pong']);
    for (const { connection } of [first, second, silent]) connection.disconnected();
    expect([left, node.timers.count]).toEqual([1, 0]);
    const stays = node.greeted();
    node.sessions.leave(1_000, () => left++);
    node.timers.runAll();
    expect([left, node.sessions.size]).toEqual([2, 1]);
    node.sessions.close();
    expect(stays.link.closed).toEqual({ code: SESSION_CLOSE.restart, reason: expect.any(String) });
    expect(codes(stays.link)).toEqual(['goaway']);
  });
});

describe('commits of one connection that follow one another', () => {
  const hwts = () => node.posted.map((request) => (request.type === 'CommitReq' ? [request.txId, request.hwt] : []));

  /** The coordinator ends the last commit. */
  function decide(ct?: Timestamp): void {
    const { ref } = node.posted.at(-1)!;
    const txId = TX[node.posted.length - 1]!;
    if (ct !== undefined) node.answer({ type: 'CommitResp', ref, txId, ct, deps: undefined });
    else node.answer({ type: 'Refused', ref, code: 'OUTCOME_PENDING', detail: 'A cohort did not answer.' });
  }

  it('chained commits begin one after the other, each above the one before it, and are answered in their order', () => {
    const { link, connection } = node.greeted();
    connection.receive([
      { ...COMMIT, id: 1, tx: TX[0] },
      { ...COMMIT, id: 2, tx: TX[1], after: TX[0] },
      { ...COMMIT, id: 3, tx: TX[2], after: TX[1] },
    ]);
    expect(hwts()).toEqual([[TX[0], 0]]);
    decide(UST + 10);
    expect(hwts().slice(1)).toEqual([[TX[1], UST + 10]]);
    decide(UST + 20);
    expect(hwts().slice(2)).toEqual([[TX[2], UST + 20]]);
    decide(UST + 30);
    expect(link.frames.map((frame) => ('ts' in frame ? frame.ts : frame))).toEqual([UST + 10, UST + 20, UST + 30]);
  });

  it("a chained commit depends on what the one before it has depended on, and on that one's place at its home", () => {
    node = new TestNode({}, new Set(['transactions']), 'cure');
    const { connection } = node.greeted();
    const snapshot = { snapshot: UST, deps: [UST - 5, UST] };
    connection.receive([
      { ...COMMIT, ...snapshot, id: 1, tx: TX[0] },
      { ...COMMIT, ...snapshot, id: 2, tx: TX[1], after: TX[0] },
    ]);
    const { ref } = node.posted[0]!;
    node.answer({ type: 'CommitResp', ref, txId: TX[0], ct: UST + 10, deps: [UST + 10, UST + 2] });
    expect(node.posted).toMatchObject([
      { txId: TX[0], snapshot: UST, deps: [UST - 5, UST], hwt: 0 },
      { txId: TX[1], snapshot: UST + 10, deps: [UST + 10, UST + 2], hwt: UST + 10 },
    ]);
  });

  it('a chained commit of an open transaction that may depend on more than its reads is not begun', () => {
    node = new TestNode({}, new Set(['transactions']), 'cure');
    const { link, connection } = node.greeted();
    const { snapshot: _open, ...open } = COMMIT;
    connection.receive([
      { ...COMMIT, deps: [UST - 5, UST], id: 1, tx: TX[0] },
      { ...open, id: 2, tx: TX[1], after: TX[0] },
    ]);
    expect(codes(link)).toEqual(['SESSION_BLOCKED']);
    expect(node.posted).toHaveLength(1);
  });

  it('a chained commit begins at once if the one before it has committed by then', () => {
    const { connection } = node.greeted();
    connection.receive({ ...COMMIT, id: 1, tx: TX[0] });
    decide(UST + 10);
    connection.receive({ ...COMMIT, id: 2, tx: TX[1], after: TX[0] });
    expect(hwts()).toEqual([
      [TX[0], 0],
      [TX[1], UST + 10],
    ]);
  });

  it('all commits behind one that has not committed are refused without effect', () => {
    const { link, connection } = node.greeted();
    connection.receive([
      { ...COMMIT, id: 1, tx: TX[0] },
      { ...COMMIT, id: 2, tx: TX[1], after: TX[0] },
      { ...COMMIT, id: 3, tx: TX[2], after: TX[1] },
    ]);
    decide();
    expect(codes(link)).toEqual(['OUTCOME_PENDING', 'SESSION_BLOCKED', 'SESSION_BLOCKED']);
    connection.receive({ ...COMMIT, id: 4, tx: TX[2], after: TX[1] });
    expect(codes(link).at(-1)).toBe('SESSION_BLOCKED');
    expect(node.posted).toHaveLength(1);
  });

  it('commits are refused behind one that was not sent last on their connection', () => {
    const [first, second] = [node.greeted(), node.greeted()];
    first.connection.receive({ ...COMMIT, id: 1, tx: TX[0] });
    second.connection.receive({ ...COMMIT, id: 1, tx: TX[1], after: TX[0] });
    expect(second.link.frames).toMatchObject([{ code: 'SESSION_BLOCKED', retryable: true }]);
    first.connection.receive({ ...COMMIT, id: 2, tx: TX[1], after: 'no id' });
    first.connection.receive({ ...COMMIT, id: 3, tx: TX[2], after: TX[1] });
    expect(codes(first.link)).toEqual(['INVALID_REQUEST', 'SESSION_BLOCKED']);
    expect(node.posted).toHaveLength(1);
  });
});
