import { type TestLink, TestNode } from '@isochron/testing/sessions/served-node';
import { CREDITS } from './served-connection.js';

const KEYS = ['default/a'];
const codes = ({ frames }: TestLink) => frames.map((frame) => ('code' in frame ? frame.code : frame.type));
const reads = (first: number, count: number, keys: readonly string[] = KEYS) =>
  Array.from({ length: count }, (_, i) => ({ type: 'read', id: first + i, keys }));

/** A node whose reads are answered at once, and a client of it that has been welcomed. */
function limited(limits: ConstructorParameters<typeof TestNode>[0]) {
  const node = new TestNode(limits);
  node.answersAtOnce = true;
  const client = node.greeted();
  // The second of the greeting is over.
  node.steadyMs = 10_000;
  return { node, ...client };
}

describe('the rate of a client', () => {
  it('frames above the rate are refused with a time, each a later one, and nothing of them is done', () => {
    const { node, link, connection } = limited({ requestsPerSecondPerClient: 10 });
    connection.receive(reads(1, 13));
    expect(codes(link)).toEqual([...Array(10).fill('values'), ...Array(3).fill('RATE_LIMITED')]);
    expect(link.frames.slice(10)).toEqual(
      [100, 200, 300].map((retryAfterMs, i) => ({
        type: 'error',
        id: 11 + i,
        code: 'RATE_LIMITED',
        detail: expect.stringMatching(/\.$/),
        retryable: true,
        retryAfterMs,
      })),
    );
    expect(node.posted).toHaveLength(10);
    node.steadyMs += 100;
    connection.receive(reads(20, 1));
    expect(codes(link).at(-1)).toBe('values');
  });

  it('all connections of a client use one budget, and other clients have their own', () => {
    const node = new TestNode({ requestsPerSecondPerClient: 10 });
    node.answersAtOnce = true;
    const [first, second] = [node.greeted('near'), node.greeted('near')];
    const other = node.greeted('far');
    node.steadyMs = 10_000;
    first.connection.receive(reads(1, 6));
    second.connection.receive(reads(1, 6));
    other.connection.receive(reads(1, 10));
    const refused = [first, second, other].map(
      ({ link }) => codes(link).filter((code) => code === 'RATE_LIMITED').length,
    );
    expect(refused).toEqual([0, 2, 0]);
  });

  it('a read or commit of many keys counts as many requests', () => {
    const { link, connection } = limited({ requestsPerSecondPerClient: 10 });
    connection.receive(
      reads(
        1,
        1,
        ['a', 'b', 'c', 'd', 'e', 'f'].map((key) => `default/${key}`),
      ),
    );
    connection.receive(
      reads(
        2,
        1,
        ['a', 'b', 'c', 'd', 'e'].map((key) => `default/${key}`),
      ),
    );
    connection.receive(reads(3, 4));
    expect(codes(link)).toEqual(['values', 'RATE_LIMITED', 'values', 'values', 'values', 'values']);
  });

  it('bytes of requests and answers above the rate make later requests wait', () => {
    const { node, link, connection } = limited({ bytesPerSecondPerClient: 1000 });
    connection.receive(reads(1, 1), 2500);
    expect(codes(link)).toEqual(['RATE_LIMITED']);
    expect(link.frames[0]).toMatchObject({ retryAfterMs: 1500 });
    node.steadyMs += 1500;
    connection.receive(reads(2, 1), 0);
    expect(codes(link).at(-1)).toBe('values');
    // The bytes of that answer count, too.
    const { serving } = node;
    const before = serving.rates.take('', 0, node.steadyMs);
    connection.receive(reads(3, 60), 0);
    connection.receive({ type: 'ping', id: 100 }, 0);
    expect([before, serving.rates.take('', 1, node.steadyMs) > 0]).toEqual([0, true]);
  });

  it('a client crowds once it has used more than half of its requests or bytes of a second, and no longer later', () => {
    const { node, connection } = limited({ requestsPerSecondPerClient: 10, bytesPerSecondPerClient: 1000 });
    const crowds = [connection.crowds];
    connection.receive(reads(1, 5));
    crowds.push(connection.crowds);
    connection.receive(reads(10, 1));
    crowds.push(connection.crowds);
    node.steadyMs += 100;
    crowds.push(connection.crowds);
    // The bytes alone: all requests of a second are there again.
    node.steadyMs += 1000;
    connection.receive(reads(20, 1), 501);
    crowds.push(connection.crowds);
    expect(crowds).toEqual([false, false, true, false, true]);
  });

  it('a message is served in parts of so many requests, with the answers that it has as a whole', () => {
    const inParts = limited({ requestsPerSecondPerClient: 10 });
    const atOnce = limited({ requestsPerSecondPerClient: 10 });
    const pair = ['default/a', 'default/b'];
    const message = [...reads(1, 2, pair), ...reads(3, 4), 'no frame', ...reads(7, 2)];
    const parts: number[] = [];
    for (let left: readonly unknown[] = message; left.length > 0; ) {
      const before = left.length;
      left = inParts.connection.receive(left, 0, 3);
      parts.push(before - left.length);
    }
    expect(parts).toEqual([2, 3, 3, 1]);
    expect(atOnce.connection.receive(message)).toEqual([]);
    expect(inParts.link).toEqual(atOnce.link);
  });

  it('a ping and an abort are answered at the limit, and refused only far above it', () => {
    const { link, connection } = limited({ requestsPerSecondPerClient: 10 });
    connection.receive(reads(1, 11));
    for (let id = 100; id < 110; id++) connection.receive({ type: 'ping', id });
    expect(codes(link).slice(10)).toEqual(['RATE_LIMITED', ...Array(10).fill('pong')]);
    for (let id = 200; id < 202; id++) connection.receive({ type: 'ping', id });
    expect(codes(link).slice(-2)).toEqual(['pong', 'RATE_LIMITED']);
  });

  it('a client that goes on in spite of its refusals is not read from for a while, and then ended', () => {
    const { node, link, connection } = limited({ requestsPerSecondPerClient: 1, refusalsPerSecondPerClient: 100 });
    let id = 1;
    const flood = (count: number): void => {
      connection.receive(reads(id, count));
      id += count;
    };
    flood(101);
    expect(link.rests).toEqual([]);
    flood(CREDITS);
    expect(link.rests).toEqual([500]);
    for (let i = 0; i < 59; i++) {
      node.steadyMs += 500;
      flood(CREDITS);
    }
    expect([link.rests.length, link.closed]).toEqual([60, undefined]);
    node.steadyMs += 500;
    flood(CREDITS);
    expect(link.closed).toEqual({ code: 1013, reason: 'RATE_LIMITED' });
    expect(new Map(node.serving.reached).get('refusalsPerSecondPerClient')).toBeGreaterThan(60);
  });

  it('rests that lie far apart do not end a connection', () => {
    const { node, link, connection } = limited({ requestsPerSecondPerClient: 1, refusalsPerSecondPerClient: 10 });
    for (let i = 0; i < 100; i++) {
      node.steadyMs += 11_000;
      connection.receive(reads(1 + 100 * i, 100));
    }
    expect([link.rests.length, link.closed]).toEqual([100, undefined]);
  });

  it('a new session of a client far above its rate is refused with a time', () => {
    const { node, connection } = limited({ requestsPerSecondPerClient: 10 });
    connection.receive(reads(1, 10));
    for (let id = 100; id < 111; id++) connection.receive({ type: 'ping', id });
    const { link, connection: late } = node.connect();
    late.receive({ type: 'hello' });
    expect(link.frames).toMatchObject([{ type: 'error', code: 'RATE_LIMITED', retryAfterMs: 1100 }]);
    expect(link.closed).toEqual({ code: 1013, reason: 'RATE_LIMITED' });
  });

  it('while memory is short, requests on living sessions are refused with OVERLOADED, and pings answered', () => {
    const { node, link, connection } = limited({});
    node.serving.isOverloaded = true;
    connection.receive([...reads(1, 2), { type: 'ping', id: 3 }]);
    expect(codes(link)).toEqual(['OVERLOADED', 'OVERLOADED', 'pong']);
    expect([...node.serving.reached]).toEqual([['memory', 2]]);
    node.serving.isOverloaded = false;
    connection.receive(reads(4, 1));
    expect(codes(link).at(-1)).toBe('values');
  });

  it('every limit that is reached is counted under its name', () => {
    const { node, connection } = limited({
      requestsPerSecondPerClient: 10,
      openTransactions: 1,
      waits: 0,
      feeds: 0,
    });
    node.serving.reached.reached('test');
    connection.receive(reads(1, 11));
    expect(Object.fromEntries(node.serving.reached)).toEqual({ test: 1, requestsPerSecondPerClient: 1 });
    const ends = jest.fn();
    node.ust = 0;
    node.serving.visibleHere('a', 5, 1, ends);
    node.serving.feed('a', ends);
    node.serving.transactions.begin('a', 'one');
    expect(() => node.serving.transactions.begin('a', 'two')).toThrow('Too many transactions');
    expect(Object.fromEntries(node.serving.reached)).toMatchObject({ waits: 1, feeds: 1, openTransactions: 1 });
  });

  it('a second start of an open transaction that fails gives back no place', () => {
    const node = new TestNode({ openTransactionsPerClient: 1 });
    const { link, connection } = node.greeted();
    const [open, other] = ['transaction-of-tests.0', 'transaction-of-tests.1'];
    const answer = (message: object) =>
      node.answer({ ref: node.posted.at(-1)!.ref, ...message } as Parameters<typeof node.answer>[0]);
    connection.receive({ type: 'start', id: 1, tx: open });
    answer({ type: 'StartTxResp', snapshot: node.ust });
    connection.receive({ type: 'start', id: 2, tx: open });
    answer({ type: 'Refused', code: 'SNAPSHOT_TOO_OLD', detail: 'Collected.' });
    connection.receive({ type: 'start', id: 3, tx: other });
    expect(codes(link)).toEqual(['started', 'SNAPSHOT_TOO_OLD', 'OVERLOADED']);
  });
});
