import type { Deps } from '@isochron/core';
import type { Input } from '@isochron/protocols';
import { ASKED_TIMER, KeptSession, type SessionMessage, SessionStore, SessionsMachine } from '@isochron/sessions';
import { SessionNetwork, startApi, type TestApi } from '../../testing/test-api.js';
import { TestCluster } from '../../testing/test-cluster.js';
import { servedProtocol } from '../node/protocols.js';
import { newSessionId } from './ids.js';

const { session } = servedProtocol('paris');

const KEYS = '/v1/keyspaces/default/keys';
let network: SessionNetwork;
let cluster: TestCluster;
let one: TestApi;
let two: TestApi;

beforeEach(async () => {
  network = new SessionNetwork();
  cluster = new TestCluster();
  one = await startApi({ cluster, network, id: 'virginia-1' });
  two = await startApi({ cluster, network, id: 'oregon-1' });
});
afterEach(() => Promise.all([one.close(), two.close()]));

const write = async (api: TestApi, key: string, value: unknown, headers: Record<string, string> = {}) => {
  const answer = await api.call('PUT', `${KEYS}/${key}`, {
    body: JSON.stringify(value),
    headers: { 'content-type': 'application/json', ...headers },
  });
  expect(answer.status).toBe(200);
  return { 'isochron-session': String(answer.headers['isochron-session']) };
};
const read = (api: TestApi, key: string, headers: Record<string, string>) =>
  api.call('GET', `${KEYS}/${key}`, { headers });

describe('a session that comes to another node (D13)', () => {
  it('a session that comes to another node finds its writes: the node fetches the cache of the token', async () => {
    const session = await write(one, 'a', 1);
    expect(await read(two, 'a', session)).toMatchObject({ status: 200, text: '1' });
  });

  it('a session that comes to another node keeps its writes on both', async () => {
    const first = await write(one, 'a', 1);
    const second = await write(two, 'b', 2, first);
    expect((await read(two, 'a', second)).text).toBe('1');
    expect((await read(one, 'b', second)).text).toBe('2');
    expect((await read(one, 'a', second)).text).toBe('1');
  });

  it('a session that comes to another node sees later writes of the first node, not only the copied ones', async () => {
    const first = await write(one, 'a', 1);
    await read(two, 'a', first);
    const second = await write(one, 'a', 2, first);
    expect((await read(two, 'a', second)).text).toBe('2');
  });

  it('a session that comes to another node waits for stable time when the keeper does not answer', async () => {
    const session = await write(one, 'a', 1);
    network.silent.add('virginia-1');
    const answer = read(two, 'a', session);
    const timer = setInterval(() => cluster.stabilise(), 5);
    expect(await answer).toMatchObject({ status: 200, text: '1' });
    clearInterval(timer);
  });

  it('a session that comes to another node waits for the stable time of that node only', async () => {
    const session = await write(one, 'a', 1);
    network.silent.add('virginia-1');
    const answer = read(two, 'a', session);
    const timer = setInterval(() => cluster.stabilise('oregon'), 5);
    expect(await answer).toMatchObject({ status: 200, text: '1' });
    clearInterval(timer);
  });

  it('a session whose gap is not closed in time receives SESSION_GAP, and may repeat the request', async () => {
    const session = await write(one, 'a', 1);
    network.silent.add('virginia-1');
    const answer = await read(two, 'a', { ...session, prefer: 'wait=0' });
    expect(answer.status).toBe(409);
    expect(answer.json()).toMatchObject({ code: 'SESSION_GAP', retryable: true });
    expect(answer.headers['isochron-session-gap']).toBe('true');
    cluster.stabilise();
    expect((await read(two, 'a', { ...session, prefer: 'wait=0' })).text).toBe('1');
  });

  it('a session writes without waiting, gap or not, and the gap is kept in its token', async () => {
    const first = await write(one, 'a', 1);
    network.silent.add('virginia-1');
    const second = await write(two, 'b', 2, first);
    network.silent.clear();
    const answer = await read(two, 'a', { ...second, prefer: 'wait=0' });
    expect(answer.json()).toMatchObject({ code: 'SESSION_GAP' });
    cluster.stabilise();
    expect((await read(two, 'a', { ...second, prefer: 'wait=0' })).text).toBe('1');
  });

  it('a session asks every node once when its keeper does not answer, and not again for every request', async () => {
    const session = await write(one, 'a', 1);
    network.silent.add('virginia-1');
    const third = await startApi({ cluster, network, id: 'virginia-2' });
    const asked = jest.spyOn(two.sessions, 'find');
    for (let i = 0; i < 3; i++)
      expect((await read(two, 'a', { ...session, prefer: 'wait=0' })).json()).toMatchObject({ code: 'SESSION_GAP' });
    expect(asked.mock.calls.map(([nodes]) => nodes)).toEqual([['virginia-2']]);
    await third.close();
  });

  it('a session that comes to another node costs no message once its writes are stable', async () => {
    const session = await write(one, 'a', 1);
    cluster.stabilise();
    network.silent.add('virginia-1');
    expect((await read(two, 'a', { ...session, prefer: 'wait=0' })).text).toBe('1');
  });
});

describe('the machine of sessions', () => {
  const paris = {
    session,
    fits: (deps: Deps | undefined) => deps === undefined,
    newId: () => 'own',
    now: () => 0,
    wake: () => undefined,
  };
  const cache = { session: 's', transaction: false, complete: 0, ust: 0, hwt: 10, entries: [], changes: 1 };
  const step = (machine: SessionsMachine, input: Input<SessionMessage>): SessionMessage[] => {
    const sent: SessionMessage[] = [];
    const send = (_to: unknown, message: SessionMessage) => void sent.push(message);
    const setTimer = () => undefined;
    machine.step(input, { send, sendAfterPersist: send, write: () => 0, lastWrite: () => 0, setTimer });
    return sent;
  };
  const from = (node: string) => ({ node, machine: 'sessions' });

  it('the machine of sessions does not wait for a node whose link is down', () => {
    const machine = new SessionsMachine(paris);
    const answers: unknown[] = [];
    const note = (answer: unknown) => void answers.push(answer);
    machine.fetch('oregon-1', { session: 's' }, note);
    expect(step(machine, { kind: 'timer', now: 0, timer: ASKED_TIMER })).toHaveLength(1);
    step(machine, { kind: 'link', now: 0, node: 'oregon-1', up: false });
    machine.fetch('oregon-1', { session: 's' }, note);
    machine.handOver('oregon-1', cache, note);
    expect(answers).toEqual([undefined, undefined, false]);
    expect(step(machine, { kind: 'timer', now: 0, timer: ASKED_TIMER })).toEqual([]);
    expect(machine.isDown('oregon-1')).toBe(true);
    step(machine, { kind: 'link', now: 0, node: 'oregon-1', up: true });
    expect(machine.isDown('oregon-1')).toBe(false);
  });

  it('the machine of sessions waits for an answer no longer than its timeout', () => {
    const machine = new SessionsMachine({ ...paris, fetchTimeoutMs: 50 });
    const answers: unknown[] = [];
    machine.fetch('oregon-1', { session: 's' }, (answer) => answers.push(answer));
    step(machine, { kind: 'timer', now: 0, timer: ASKED_TIMER });
    step(machine, { kind: 'timer', now: 49, timer: 'answers' });
    expect(answers).toEqual([]);
    step(machine, { kind: 'timer', now: 50, timer: 'answers' });
    expect(answers).toEqual([undefined]);
  });

  it('the machine of sessions takes over no session that has seen what this cluster cannot have (D12)', () => {
    const machine = new SessionsMachine(paris);
    const handed = (ref: number, deps?: Deps): SessionMessage => ({
      ...cache,
      type: 'SessionHandover',
      ref,
      session: `s${ref}`,
      ...(deps === undefined ? {} : { deps }),
    });
    step(machine, { kind: 'message', now: 0, from: from('oregon-1'), message: handed(1, [1, 2]) });
    step(machine, { kind: 'message', now: 0, from: from('oregon-1'), message: handed(2) });
    expect([machine.store.adopted('s1'), machine.store.adopted('s2')]).toEqual([undefined, expect.anything()]);
  });

  it('the machine of sessions takes an answer only from the node that it asked, to its question (D12)', () => {
    const machine = new SessionsMachine(paris);
    const taken: boolean[] = [];
    machine.handOver('oregon-1', cache, (done) => taken.push(done));
    const [asked] = step(machine, { kind: 'timer', now: 0, timer: ASKED_TIMER });
    const { ref } = asked!;
    const answer: SessionMessage = { type: 'SessionHandoverResp', ref };
    const wrong: SessionMessage = { ...cache, type: 'SessionCacheResp', ref, found: true, gapped: false };
    step(machine, { kind: 'message', now: 0, from: from('virginia-2'), message: answer });
    step(machine, { kind: 'message', now: 0, from: from('oregon-1'), message: wrong });
    expect(taken).toEqual([]);
    step(machine, { kind: 'message', now: 0, from: from('oregon-1'), message: answer });
    expect(taken).toEqual([true]);
  });

  it('the machine of sessions finds a copy only where it has as many changes as are asked for', () => {
    const machine = new SessionsMachine(paris);
    const message: SessionMessage = { ...cache, type: 'SessionHandover', ref: 1, changes: 2 };
    step(machine, { kind: 'message', now: 0, from: from('oregon-1'), message });
    const ask = (changes: number) =>
      step(machine, {
        kind: 'message',
        now: 0,
        from: from('virginia-2'),
        message: { type: 'SessionCacheReq', ref: 1, session: 's', changes },
      });
    expect(ask(2)).toMatchObject([{ found: true, changes: 2 }]);
    expect(ask(3)).toMatchObject([{ found: false }]);
  });
});

describe('the store of write caches', () => {
  const NEW = { seen: { ts: 0 }, hwt: 0, complete: 0 };
  const write1 = (ts: number, value: string) => ({
    txId: `t${ts}`,
    writes: [{ key: 'default/a', value }],
    commit: { ts },
    sent: { ts: 0 },
  });
  const limits = { maxSessions: 2, maxSessionBytes: 1000, maxBytes: 100_000 };

  it('the store of write caches marks a session as gapped when it drops writes that are not stable', () => {
    const kept = new KeptSession('s', NEW, limits, session);
    kept.committed(write1(10, '1'));
    expect(kept.complete).toBe(0);
    kept.committed(write1(20, 'x'.repeat(2000)));
    expect(kept.entries()).toEqual([]);
    expect(kept.complete).toBe(20);
  });

  it('the store of write caches drops the session that was not used for longest', () => {
    const store = new SessionStore({ session, newId: newSessionId, now: () => 0, limits });
    const state = NEW;
    const [a, b, c] = [store.create(state), store.create(state), store.create(state)];
    for (const kept of [a, b, c]) store.touch(kept);
    expect([a, b, c].map(({ id }) => store.get(id))).toEqual([undefined, b, c]);
  });

  it('the store of write caches counts bytes as sessions grow', () => {
    const store = new SessionStore({
      session,
      newId: newSessionId,
      now: () => 0,
      limits: { maxSessions: 100, maxSessionBytes: 10_000, maxBytes: 10_000 },
    });
    const sessions = Array.from({ length: 4 }, () => store.create(NEW));
    for (const kept of sessions) {
      kept.committed(write1(10, 'x'.repeat(4000)));
      store.touch(kept);
    }
    expect(store.size).toBe(2);
  });

  it('the store of write caches drops stable writes', () => {
    const kept = new KeptSession('s', NEW, limits, session);
    kept.committed(write1(10, '1'));
    kept.observe({ ts: 0 }, 10);
    expect([kept.entries(), kept.bytes, kept.complete]).toEqual([[], 0, 0]);
  });

  it('an evicted session waits for its writes', async () => {
    const token = await write(one, 'a', 1);
    const kept = one.sessions.store;
    for (let i = 0; i < kept.limits.maxSessions; i++) kept.touch(kept.create(NEW));
    expect((await read(one, 'a', { ...token, prefer: 'wait=0' })).json()).toMatchObject({ code: 'SESSION_GAP' });
  });
});
