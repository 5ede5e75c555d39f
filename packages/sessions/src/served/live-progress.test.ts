/** The progress of live scopes in the frames with stable time (LQ9). */
import type { LiveResp } from '@isochron/protocols';
import { TestNode, UST } from '@isochron/testing/sessions/served-node';

const LIVE = { type: 'live', after: UST, waitMs: 60_000 };
const ADD = [{ watch: 1, keys: ['default/a'] }];
const CHANGE = { key: 'default/a', contents: [{ ct: UST + 1, txId: 't', content: '1' }] };

let node: TestNode;
beforeEach(() => {
  node = new TestNode();
});

function client() {
  const { link, connection } = node.greeted();
  let id = 0;
  const send = (frame: object): void => void connection.receive({ id: ++id, ...frame });
  return { link, connection, send, frames: link.frames };
}

/** The request that waits at the feed. */
function asked() {
  const last = node.posted.at(-1);
  if (last?.type !== 'LiveReq') throw new Error(`no live request: ${last?.type}`);
  return last;
}

/** The wait at the feed is over, with stable time and the reader's position here. */
function pass(to: number, changes: LiveResp['changes'] = []): void {
  const { ref, waitMs } = asked();
  node.nowMs += waitMs;
  node.ust = Math.max(node.ust, to);
  node.answer({ type: 'LiveResp', ref, to, changes });
}

it('while nothing changes, a client learns each second how far its scopes have been examined (LQ9)', () => {
  const { send, frames } = client();
  send({ ...LIVE, add: ADD });
  expect(asked()).toMatchObject({ waitMs: 1_000, after: UST, add: [{ watch: 1 }] });
  pass(UST + 10);
  expect(asked()).toMatchObject({ waitMs: 1_000, after: UST + 10, add: [], remove: [] });
  pass(UST + 20);
  expect(frames).toMatchObject([
    { type: 'ust', ust: UST + 10, live: UST + 10 },
    { type: 'ust', ust: UST + 20, live: UST + 20 },
  ]);
});

it('an idle client learns it every eighth second, and gets no other stable time in that round (LQ9)', () => {
  const { send, frames } = client();
  send({ ...LIVE, add: ADD });
  for (let second = 0; second < 7; second++) node.sessions.tick(false);
  pass(UST + 10);
  expect(asked().waitMs).toBe(8_000);
  node.ust++;
  node.sessions.tick(false);
  expect(frames.filter(({ type }) => type === 'ust')).toHaveLength(1);
});

it('a wait has one answer: with the first change, or when the whole time of the client is over (LQ9)', () => {
  const { send, frames } = client();
  send({ ...LIVE, add: ADD });
  pass(UST + 10);
  pass(UST + 20, [CHANGE]);
  send({ ...LIVE, after: UST + 20, waitMs: 2_500 });
  for (const to of [UST + 30, UST + 40, UST + 50]) pass(to);
  expect(frames.filter(({ type }) => type === 'live')).toMatchObject([
    { id: 1, to: UST + 20, changes: [['default/a', [[UST + 1, 't', '1']]]] },
    { id: 2, to: UST + 50, changes: [] },
  ]);
});

it('no progress is named without a request that waits, and none of the scopes of before (LQ9)', () => {
  const { send, frames } = client();
  const named = () => {
    frames.length = 0;
    node.sessions.tick(true);
    return frames.map((frame) => (frame.type === 'ust' ? frame.live : frame.type));
  };
  expect(named()).toEqual([undefined]);
  send({ ...LIVE, add: ADD });
  expect(named()).toEqual([undefined]);
  pass(UST + 10);
  expect(named()).toEqual([UST + 10]);
  send({ ...LIVE, after: UST + 10, add: [{ watch: 2, keys: ['default/b'] }] });
  expect(named()).toEqual([undefined]);
  pass(UST + 20);
  expect(named()).toEqual([UST + 20]);
  pass(UST + 30, [CHANGE]);
  expect(named()).toEqual([undefined]);
});

it('progress is not above the stable time of its frame: partitions of other regions may be ahead (LQ9)', () => {
  const { send, frames } = client();
  send({ ...LIVE, add: ADD });
  const { ref, waitMs } = asked();
  node.nowMs += waitMs;
  node.answer({ type: 'LiveResp', ref, to: UST + 100, changes: [] });
  expect(frames).toMatchObject([{ type: 'ust', ust: UST, live: UST }]);
});

it('a part that ends because another request takes its place is the answer of the first one (LQ9)', () => {
  const { send, frames } = client();
  send({ ...LIVE, add: ADD });
  const { ref } = asked();
  send({ ...LIVE, after: UST });
  node.answer({ type: 'LiveResp', ref, to: UST + 5, changes: [] });
  expect(frames).toMatchObject([{ type: 'live', id: 1, to: UST + 5 }]);
  expect(node.posted).toHaveLength(2);
});

it('a node that is about to close, and a client that is gone, ask for no further part', () => {
  const { send, connection } = client();
  send({ ...LIVE, add: ADD });
  node.serving.leave();
  pass(UST + 10);
  expect(node.posted).toHaveLength(1);
  connection.disconnected();
  expect(node.posted.map(({ type }) => type)).toEqual(['LiveReq', 'LiveEnd']);
});
