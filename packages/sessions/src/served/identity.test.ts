/** Credentials that expire on a living session, and new ones (U1, U2). */
import { type IsochronError, type Principal, IsochronError as Refusal } from '@isochron/core';
import { TestNode, UST } from '@isochron/testing/sessions/served-node';
import { clientTxId } from '../coordinator/owned-ids.js';
import type { Done } from '../coordinator/request-port.js';
import { LAPSE_MS } from './identity.js';

const LIFE_MS = 10_000;

let node: TestNode;
let beganMs: number;
/** Checks of credentials that have not ended. */
let checks: { readonly credentials: string | undefined; readonly done: Done<Principal> }[];

beforeEach(() => {
  node = new TestNode();
  beganMs = node.nowMs;
  checks = [];
});

const principal = (id: string, expiresAt: number | null): Principal => ({
  id,
  roles: new Set(['writer']),
  claims: { from: expiresAt },
  expiresAt,
});

/** A greeted client, whose credentials expire after a while. */
function client(expiresAt: number | null = beganMs + LIFE_MS, by = 'anna') {
  node.authenticate = (_credentials, done) => done(principal(by, expiresAt));
  const { link, connection } = node.connect();
  connection.receive({ type: 'hello', credentials: 'first' });
  const [welcome] = link.frames.splice(0);
  node.authenticate = (credentials, done) => void checks.push({ credentials, done });
  let id = 0;
  const send = (frame: object): void => void connection.receive({ id: ++id, ...frame });
  const codes = () => link.frames.map((frame) => ('code' in frame ? frame.code : frame.type));
  return { link, connection, welcome, send, codes };
}

const READ = { type: 'read', keys: ['default/a'] };
const RENEW = { type: 'authenticate', credentials: 'second' };
const COMMIT = {
  type: 'commit',
  tx: 'session-of-tests.0',
  snapshot: UST,
  hwt: 0,
  sentAfter: UST,
  attemptRegions: ['p'],
  writes: [{ key: 'default/a', value: '1' }],
};

/** Time passes; timers that were set for at most this long run. */
function pass(ms: number): void {
  node.nowMs += ms;
  node.timers.runAll(ms);
}

const refused = (): IsochronError => new Refusal('UNAUTHENTICATED', 'wrong');

describe('a welcome', () => {
  it('a welcome has the time at which the credentials expire, if they do', () => {
    expect(client().welcome).toMatchObject({ type: 'welcome', expiresAt: beganMs + LIFE_MS });
    expect(client(null).welcome).not.toHaveProperty('expiresAt');
  });
});

describe('the audit of a session', () => {
  it('a request that is refused for a permission or a credential is for the audit, with its principal and its type', () => {
    node.authenticate = (_credentials, done) => done({ ...principal('anna', null), roles: new Set(['reader']) });
    const { link, connection } = node.connect();
    connection.receive({ type: 'hello', credentials: 'first' });
    connection.receive({ id: 1, ...COMMIT });
    node.authenticate = (_credentials, done) => done(refused());
    connection.receive({ id: 2, ...RENEW });
    expect(link.frames.slice(1)).toMatchObject([{ code: 'PERMISSION_DENIED' }, { code: 'UNAUTHENTICATED' }]);
    expect(node.refused).toMatchObject([
      { error: { code: 'PERMISSION_DENIED' }, principal: { id: 'anna' }, request: 'commit' },
      { error: { code: 'UNAUTHENTICATED' }, principal: { id: 'anna' }, request: 'authenticate' },
    ]);
  });
});

describe('an expired session', () => {
  it('an expired session is refused every request with UNAUTHENTICATED, whether a timer has run or not (U1)', () => {
    const { send, codes } = client();
    node.nowMs = beganMs + LIFE_MS - 1;
    send(READ);
    node.nowMs = beganMs + LIFE_MS;
    for (const frame of [
      READ,
      COMMIT,
      { type: 'ping' },
      { type: 'stable', ts: UST },
      { type: 'status', tx: COMMIT.tx },
    ])
      send(frame);
    expect(codes()).toEqual(Array(5).fill('UNAUTHENTICATED'));
    expect(node.posted.map(({ type }) => type)).toEqual(['ReadReq']);
  });

  it('an expired session stays expired when the clock of the node is set back (U1)', () => {
    const { send, codes } = client();
    node.nowMs = beganMs + LIFE_MS;
    send(READ);
    node.nowMs = beganMs;
    send(READ);
    expect(codes()).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED']);
  });

  it.each([
    [
      'changes of watched scopes',
      { type: 'live', after: UST, waitMs: 60_000, add: [{ watch: 1, keys: ['default/a'] }] },
    ],
    ['pages of changes', { type: 'changes', scope: 'default/', after: UST, waitMs: 60_000 }],
    ['stable time', { type: 'stable', ts: UST + 5, timeoutMs: 60_000 }],
  ])('a request that waits for %s ends at expiry, and its later answer is not sent (U1)', (_what, frame) => {
    const { send, codes, connection } = client();
    send(frame);
    expect(codes()).toEqual([]);
    pass(LIFE_MS);
    expect(codes()).toEqual(['UNAUTHENTICATED']);
    node.ust = UST + 5;
    node.waiters.advance(node.ust);
    const [request] = node.posted;
    if (request?.type === 'LiveReq') node.answer({ type: 'LiveResp', ref: request.ref, to: UST + 5, changes: [] });
    if (request?.type === 'ChangesReq')
      node.answer({ type: 'ChangesResp', ref: request.ref, from: UST, to: UST + 5, transactions: [] });
    connection.sendUst(true);
    expect(codes()).toEqual(['UNAUTHENTICATED']);
  });

  it('an answer to a wait that comes after the expiry, before any timer, is not sent (U1)', () => {
    const { send, codes } = client();
    send({ type: 'stable', ts: UST + 5, timeoutMs: 60_000 });
    node.nowMs = beganMs + LIFE_MS;
    node.waiters.advance(UST + 5);
    expect(codes()).toEqual(['UNAUTHENTICATED']);
  });

  it('a commit that was accepted before is finished, and its client gets the outcome (U1)', () => {
    const { send, codes } = client();
    send(COMMIT);
    pass(LIFE_MS);
    const [request] = node.posted;
    node.answer({ type: 'CommitResp', ref: request!.ref, txId: COMMIT.tx, ct: UST + 1 });
    expect(codes()).toEqual(['committed']);
  });

  it('an expired session is closed when it was not renewed for a minute', () => {
    const { link } = client();
    pass(LIFE_MS);
    expect(link.closed).toBeUndefined();
    pass(LAPSE_MS);
    expect(link.frames.at(-1)).toMatchObject({ type: 'error', code: 'UNAUTHENTICATED' });
    expect(link.closed).toEqual({ code: 4401, reason: 'UNAUTHENTICATED' });
  });

  it('a session whose credentials do not expire has no timer, and an ended session has none either', () => {
    client(null);
    expect(node.timers.count).toBe(0);
    const { connection } = client();
    expect(node.timers.count).toBe(1);
    connection.disconnected();
    expect(node.timers.count).toBe(0);
  });
});

describe('an open transaction', () => {
  it.each<[string, object]>([
    ['start', { type: 'start' }],
    ['read', READ],
    ['list', { type: 'list', keyspace: 'default' }],
    ['commit', { ...COMMIT, snapshot: null }],
    ['abort', { type: 'abort' }],
    ['status', { type: 'status' }],
  ])('the request %s means no transaction of another principal, whatever id it names (U4)', (_type, frame) => {
    const tx = 'session-of-tests.1';
    const anna = client(null);
    anna.send({ type: 'start', tx });
    const named = () => (node.posted.at(-1) as { readonly txId?: string }).txId!;
    const started = named();
    client(null, 'eve').send({ ...frame, tx });
    const ofEve = named();
    anna.send({ ...frame, tx });
    expect(named()).toBe(started);
    expect(ofEve).not.toBe(started);
    expect([started, ofEve].map(clientTxId)).toEqual([tx, tx]);
  });
});

describe('new credentials', () => {
  it('new credentials take the place of the present ones, and the session goes on (U1)', () => {
    const { send, link, codes } = client();
    send({ type: 'live', after: UST, waitMs: 60_000, add: [{ watch: 1, keys: ['default/a'] }] });
    pass(LIFE_MS - 1);
    send(RENEW);
    expect(checks).toMatchObject([{ credentials: 'second' }]);
    checks.pop()!.done(principal('anna', node.nowMs + LIFE_MS));
    expect(link.frames).toEqual([{ type: 'authenticated', id: 2, now: node.nowMs, expiresAt: node.nowMs + LIFE_MS }]);
    pass(LIFE_MS - 1);
    send(READ);
    expect(codes()).toEqual(['authenticated']);
    pass(1);
    send(READ);
    expect(codes()).toEqual(['authenticated', 'UNAUTHENTICATED', 'UNAUTHENTICATED']);
  });

  it('new credentials are accepted after the expiry, too, and requests are served again (U1)', () => {
    const { send, codes } = client();
    pass(LIFE_MS);
    send(RENEW);
    send(READ);
    checks.pop()!.done(principal('anna', null));
    send(READ);
    expect(codes()).toEqual(['UNAUTHENTICATED', 'authenticated']);
    expect(node.posted).toHaveLength(1);
    pass(LAPSE_MS);
    expect(codes()).toEqual(['UNAUTHENTICATED', 'authenticated']);
  });

  it.each([
    ['that are refused', () => refused()],
    ['of another principal', () => principal('eve', beganMs + 10 * LIFE_MS)],
  ])('new credentials %s leave the session as it was (U2)', (_what, result) => {
    const { send, codes, link } = client();
    send(RENEW);
    checks.pop()!.done(result());
    send(COMMIT);
    expect(codes()).toEqual(['UNAUTHENTICATED']);
    expect(node.posted).toMatchObject([{ type: 'CommitReq', principal: 'anna' }]);
    pass(LIFE_MS);
    send(READ);
    expect(codes()).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED']);
    expect(link.closed).toBeUndefined();
  });

  it('other credentials of a session are refused with OVERLOADED while some are checked', () => {
    const { send, codes } = client();
    for (let i = 0; i < 3; i++) send(RENEW);
    expect(checks).toHaveLength(1);
    checks.pop()!.done(principal('anna', null));
    send(RENEW);
    expect(codes()).toEqual(['OVERLOADED', 'OVERLOADED', 'authenticated']);
    expect(checks).toHaveLength(1);
  });

  it('new credentials that are checked when the connection ends have no effect', () => {
    const { send, connection } = client();
    send(RENEW);
    connection.disconnected();
    checks.pop()!.done(principal('anna', node.nowMs + LIFE_MS));
    expect(node.timers.count).toBe(0);
  });
});
