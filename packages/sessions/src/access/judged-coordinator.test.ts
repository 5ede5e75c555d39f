import {
  ANONYMOUS_PRINCIPAL,
  IsochronError,
  type KeyWrite,
  type Principal,
  packWall,
  Update,
  type Version,
} from '@isochron/core';
import type { ReadResp, Watch } from '@isochron/protocols';
import { endOf, PLACES, VersionedCoordinator } from '@isochron/testing/sessions/access';
import { storedTxId } from '../coordinator/owned-ids.js';
import { type ClaimRead, JudgedCoordinator, readClaim } from './judged-coordinator.js';
import { Policy, type RuleSource } from './policy.js';

const ALBUM = 'albums/7';
const PHOTO = 'albums/7/photos/1';
const PHOTOS = { start: 'albums/7/photos/', end: 'albums/7/photos0', limit: 100 };
const LIST = { type: 'ListReq', txId: null, ust: 0, at: null, keyspace: 'albums', range: PHOTOS } as const;

const RULES = [
  { name: 'own-albums', match: 'albums/{album}', allow: ['create'], when: 'incoming.owner == auth.id' },
  { name: 'owners-change', match: 'albums/{album}', allow: ['get', 'update'], when: 'document.owner == auth.id' },
  {
    name: 'owners-add',
    match: 'albums/{album}/photos/{photo}',
    allow: ['create', 'delete'],
    when: "get('albums/' + album).owner == auth.id",
  },
  {
    name: 'readers-see',
    match: 'albums/{album}/photos/{photo}',
    allow: ['get', 'list'],
    when: "auth.id in get('albums/' + album).readers",
  },
  {
    name: 'own-notes',
    match: 'notes/{note}',
    allow: ['get', 'create', 'update'],
    when: 'incoming == null || incoming.by == auth.id',
  },
  { name: 'own-notes-list', match: 'notes/{note}', allow: ['list'], when: 'document.by == auth.id', filter: true },
] as const;

const principalOf = (id: string): Principal => ({ ...ANONYMOUS_PRINCIPAL, id });

let node: VersionedCoordinator;
let refused: string[];
/** Sessions that wait for stable time: until the test moves it. */
let waiting: (() => void)[];
beforeEach(() => {
  node = new VersionedCoordinator();
  refused = [];
  waiting = [];
  node.store({ [ALBUM]: { owner: 'ann', readers: ['bob'] } });
});

const policyOf = (rules: readonly RuleSource[] = RULES): Policy => new Policy(rules, ['albums', 'notes']);

function judged(by: string, hwt = 0): JudgedCoordinator {
  const policy = policyOf();
  const rules = { policy, refused: (_: Principal, { message }: IsochronError) => void refused.push(message) };
  const visible = (ts: number, done: (ts: number) => void) => void waiting.push(() => done(ts));
  return new JudgedCoordinator(node, rules, { principal: principalOf(by), hwt, visible, now: () => 0, places: PLACES });
}

const read = (by: JudgedCoordinator, key: string, request: object = {}) =>
  endOf((done) => by.ask({ type: 'ReadReq', txId: null, ust: 0, at: null, keys: [key], ...request }, done));

const COMMIT = { type: 'CommitReq', sentAfter: 0, attemptRegions: ['r'], principal: 'p' } as const;

let transactions = 0;
function commit(by: JudgedCoordinator, writes: Record<string, KeyWrite['value']>, request: object = {}) {
  const txId = `transaction-${transactions++}`;
  const order = { ...COMMIT, txId, snapshot: node.ust, hwt: 0 };
  const all = Object.entries(writes).map(([key, value]) => ({ key, value }));
  return endOf((done) => by.ask({ ...order, writes: all, ...request }, done));
}

const deniedSee = (what: string): string =>
  `PERMISSION_DENIED: The access rule readers-see does not allow this principal to ${what}.`;

describe('the decision of a claim', () => {
  const claim = (by: JudgedCoordinator, ts: number, txId: string) =>
    endOf<ClaimRead>((done) =>
      readClaim(by, { type: 'ReadReq', txId: null, ust: ts, at: ts, keys: [PHOTO] }, txId, done),
    );

  it('a user who may create and not read a document learns whether the claim was won, and nothing of the document', () => {
    node.store({ [PHOTO]: { secret: 1 } });
    // Nodes store the id of a transaction together with its owner (U4).
    const txId = storedTxId('claim-of-ann', 'ann');
    let version: Version | undefined;
    const plain = node.handlers.ReadReq!;
    node.handlers.ReadReq = (request, done) =>
      plain(request, (answer) => {
        const [first] = answer instanceof IsochronError ? [] : answer.versions;
        if (first?.value !== '{"secret":1}') return done(answer);
        version = { ...first, txId };
        return done({ ...(answer as ReadResp), versions: [version] });
      });
    expect(read(judged('ann'), PHOTO)).toContain('PERMISSION_DENIED');
    const { ts } = version!;
    refused.length = 0;
    expect(claim(judged('ann'), ts, 'claim-of-ann')).toMatchObject({ version: null, origin: { ts, txId } });
    expect(claim(judged('eve'), ts, 'claim-of-ann')).toMatchObject({ version: null, origin: null });
    expect(claim(judged('ann'), ts, 'another claim')).toMatchObject({ version: null, origin: null });
    expect(claim(judged('bob'), ts, 'another claim')).toMatchObject({ version, origin: { ts, txId } });
    expect(refused).toEqual([]);
  });
});

describe('reads', () => {
  it('a read is judged in the snapshot that it reads: a removed reader sees no photo that was added later (AR1)', () => {
    node.store({ [PHOTO]: { of: 'us' } });
    const bob = judged('bob');
    expect(read(bob, PHOTO)).toMatchObject({ versions: [{ value: '{"of":"us"}' }] });
    endOf((done) => bob.ask({ type: 'StartTxReq', txId: 'open', ust: 0, at: null }, done));
    const removed = node.store({ [ALBUM]: { owner: 'ann', readers: [] } });
    node.store({ [PHOTO]: { of: 'me' } });
    expect(read(bob, PHOTO)).toBe(deniedSee(`get ${PHOTO}`));
    // An old snapshot has the old permission, and the old photo.
    expect(read(bob, PHOTO, { txId: 'open' })).toMatchObject({ versions: [{ value: '{"of":"us"}' }] });
    expect(read(bob, PHOTO, { at: removed - 1 })).toMatchObject({ versions: [{ value: '{"of":"us"}' }] });
    expect(read(bob, PHOTO, { at: removed })).toBe(deniedSee(`get ${PHOTO}`));
    expect(refused).toHaveLength(2);
  });

  it('documents of rules are read in the snapshot itself, since the transaction may end before (AR1)', () => {
    const ann = judged('bob');
    endOf((done) => ann.ask({ type: 'StartTxReq', txId: 'open', ust: 0, at: null }, done));
    const snapshot = node.ust;
    node.store({ [ALBUM]: { owner: 'ann', readers: [] } });
    read(ann, PHOTO, { txId: 'open' });
    expect(node.readPlaces).toEqual([
      { txId: 'open', at: null },
      { txId: null, at: snapshot },
    ]);
  });

  it('one key that is refused refuses the read, also where there is no document', () => {
    node.store({ [PHOTO]: { of: 'us' } });
    const both = { keys: [PHOTO, 'notes/1', 'albums/8/photos/1'] };
    expect(read(judged('bob'), PHOTO, both)).toBe(deniedSee('get albums/8/photos/1'));
    expect(read(judged('bob'), 'albums/none')).toBe(
      'PERMISSION_DENIED: The access rule owners-change does not allow this principal to get albums/none.',
    );
  });

  it('documents of rules are read once for all keys of a request', () => {
    read(judged('bob'), PHOTO, { keys: [PHOTO, 'albums/7/photos/2', 'albums/7/photos/3'] });
    expect(node.reads.slice(1)).toEqual([[ALBUM]]);
  });

  it('the rules read 1,000 other documents at most for one request', () => {
    const keys = Array.from({ length: 1001 }, (_, i) => `albums/${i}/photos/1`);
    node.store(Object.fromEntries(keys.map((_, i) => [`albums/${i}`, { readers: ['bob'] }])));
    const ask = (count: number) =>
      endOf((done) =>
        judged('bob').ask({ type: 'ReadReq', txId: null, ust: 0, at: null, keys: keys.slice(0, count) }, done),
      );
    expect(ask(1000)).toMatchObject({ type: 'ReadResp' });
    expect(ask(1001)).toMatch('TOO_MANY_KEYS: The access rules need more than 1000 other documents');
  });

  it('a list is judged for its range, or filtered by the rule', () => {
    node.store({ [PHOTO]: {}, 'albums/7/photos/1/deep': {}, 'notes/1': { by: 'bob' }, 'notes/2': { by: 'ann' } });
    const list = (by: string, request: object = {}) => endOf((done) => judged(by).ask({ ...LIST, ...request }, done));
    expect(list('bob')).toMatchObject({ entries: [{ key: PHOTO }] });
    expect(list('cid')).toBe(deniedSee('list albums/7/photos/'));
    const notes = { keyspace: 'notes', range: { start: 'notes/', end: 'notes0', limit: 100 } };
    expect(list('bob', notes)).toMatchObject({ entries: [{ key: 'notes/1' }] });
    expect(list('cid', notes)).toMatchObject({ entries: [] });
  });
});

describe('writes', () => {
  it('writes are judged before anything is prepared, and a refusal leaves nothing (AR2)', () => {
    expect(commit(judged('bob'), { [PHOTO]: '{}' })).toBe(
      'PERMISSION_DENIED: The access rule owners-add does not allow this principal to write albums/7/photos/1.',
    );
    expect(node.committed.size).toBe(0);
    expect(node.ended).toHaveLength(1);
    expect(commit(judged('ann'), { [PHOTO]: '{}' })).toMatchObject({ type: 'CommitResp' });
    expect(node.document(PHOTO)).toEqual({});
  });

  it('one write that is refused refuses them all', () => {
    expect(commit(judged('ann'), { [PHOTO]: '{}', 'albums/8/photos/1': '{}' })).toMatch('PERMISSION_DENIED');
    expect(node.committed.size).toBe(0);
  });

  it('the snapshot decides between create, update and delete, and an update shows what it makes of the document', () => {
    const ann = judged('ann');
    expect(commit(ann, { 'albums/9': '{"owner":"bob"}' })).toMatch('owners-change');
    expect(commit(ann, { [ALBUM]: null })).toBe(
      'PERMISSION_DENIED: No access rule allows this principal to delete albums/7.',
    );
    const by = (name: string) => new Update(`[{"op":"set","path":"/by","value":"${name}"}]`);
    node.store({ 'notes/1': { by: 'ann', text: 'x' } });
    expect(commit(ann, { 'notes/1': by('bob') })).toMatch('own-notes');
    expect(commit(ann, { 'notes/1': by('ann') })).toMatchObject({ type: 'CommitResp' });
  });

  it('a refusal of a write is the same whether the document is there or not (AR5)', () => {
    const other = 'albums/7/photos/2';
    node.store({ [PHOTO]: {}, 'albums/8': {} });
    const [bob, cid] = [judged('bob'), judged('cid')];
    const placeless = (refusal: unknown) => String(refusal).replace(/\d\.$/, '');
    expect(placeless(commit(bob, { [PHOTO]: '{}' }))).toBe(placeless(commit(bob, { [other]: '{}' })));
    expect(placeless(commit(cid, { 'albums/8': '{}' }))).toBe(placeless(commit(cid, { 'albums/9': '{}' })));
    const unruled = 'albums/7/videos/1';
    const refusal = commit(bob, { [unruled]: '{}' });
    expect(refusal).toBe('PERMISSION_DENIED: No access rule allows this principal to write albums/7/videos/1.');
    node.store({ [unruled]: {} });
    expect(commit(bob, { [unruled]: '{}' })).toBe(refusal);
  });

  it('a commit of an open transaction that needs own writes is judged with them alone, not in its snapshot (AR3)', () => {
    const owner = judged('ann', node.clock + 1);
    endOf((done) => owner.ask({ type: 'StartTxReq', txId: 'open', ust: 0, at: null }, done));
    const made = node.store({ 'albums/8': { owner: 'ann', readers: [] } }, false);
    const done: unknown[] = [];
    const request = { ...COMMIT, txId: 'open', snapshot: null, hwt: made };
    owner.ask({ ...request, writes: [{ key: 'albums/8/photos/1', value: '{}' }] }, (result) => done.push(result));
    node.ust = made;
    for (const go of waiting) go();
    expect(done).toMatchObject([{ type: 'CommitResp' }]);
  });

  it('a client that names an old snapshot does not get back a permission that it has lost (AR2)', () => {
    const old = node.ust;
    node.store({ [ALBUM]: { owner: 'bob', readers: [] } });
    expect(commit(judged('ann'), { [PHOTO]: '{}' }, { snapshot: old })).toMatch('owners-add');
  });

  it('a refused commit is never passed on, also under the id of one that has taken effect or may (AR2)', () => {
    node.store({ 'notes/1': { by: 'ann' } });
    const passed: unknown[] = [];
    const inner = node.handlers.CommitReq!;
    node.handlers.CommitReq = (request, done) => {
      passed.push(request.txId);
      inner(request, done);
    };
    const [txId, other] = ['transaction-known', 'transaction-pending'];
    const mine = commit(judged('ann'), { 'notes/2': '{"by":"ann"}' }, { txId }) as { ct: number };
    expect(commit(judged('ann'), { 'notes/1': '{"by":"bob"}' }, { txId })).toMatchObject({ ct: mine.ct });
    node.handlers.TxStatusReq = ({ txId: id }, done) =>
      done({ type: 'TxStatusResp', ref: 0, status: id === other ? 'pending' : 'unknown', ts: null, attempt: 0 });
    expect(commit(judged('ann'), { 'notes/1': '{"by":"bob"}' }, { txId: other })).toMatch('OUTCOME_PENDING');
    expect(passed).toEqual([txId]);
    expect(node.document('notes/1')).toEqual({ by: 'ann' });
  });

  it('a refusal of an update is the same whether the document is there or not, also where it leaves none (AR5)', () => {
    node.store({ 'notes/1': { by: 'bob' } });
    const update = new Update('[{"op":"remove","path":"/x"}]');
    const refusalOf = (key: string) => String(commit(judged('ann'), { [key]: update })).replace(key, 'it');
    expect(refusalOf('notes/1')).toBe(refusalOf('notes/2'));
    expect(refusalOf('notes/1')).toMatch('PERMISSION_DENIED');
  });

  it('a repeated commit that has taken effect gets its outcome, whatever is allowed now (AR2)', () => {
    const order = { txId: 'once', snapshot: node.ust };
    const first = commit(judged('ann'), { [PHOTO]: '{}' }, order);
    node.store({ [ALBUM]: { owner: 'bob', readers: [] } });
    expect(commit(judged('ann'), { [PHOTO]: '{}' }, order)).toEqual(first);
  });
});

describe('own writes', () => {
  it('what is refused in a snapshot without the own writes is judged once more with them (AR3)', () => {
    const made = node.store({ 'albums/8': { owner: 'ann', readers: ['ann'] } }, false);
    const ann = judged('ann', made);
    expect(commit(ann, { 'albums/8/photos/1': '{}' })).toBeUndefined();
    node.ust = made;
    const done: unknown[] = [];
    const request = { ...COMMIT, txId: 't', snapshot: 10, hwt: made };
    ann.ask({ ...request, writes: [{ key: 'albums/8/photos/2', value: '{}' }] }, (result) => done.push(result));
    expect(done).toMatchObject([{ type: 'CommitResp' }]);
    for (const go of waiting) go();
    expect(node.committed.size).toBe(2);
  });

  it('a read in an open transaction, or of a named snapshot, is never served under a later permission (AR3)', () => {
    const made = node.store({ 'albums/8': { owner: 'bob', readers: ['ann'] }, 'albums/8/photos/1': {} }, false);
    const ann = judged('ann', made);
    endOf((done) => ann.ask({ type: 'StartTxReq', txId: 'open', ust: 0, at: null }, done));
    expect(read(ann, 'albums/8/photos/1', { txId: 'open' })).toBe(deniedSee('get albums/8/photos/1'));
    expect(read(ann, 'albums/8/photos/1', { at: 10 })).toBe(deniedSee('get albums/8/photos/1'));
    expect(read(ann, 'albums/8/photos/1')).toBeUndefined();
  });
});

describe('changes', () => {
  const page = (from: number, ...keys: string[]) => ({
    from,
    to: node.ust,
    transactions: [{ txId: 't', ct: node.ust, writes: keys.map((key) => ({ key, value: '{}' })) }],
  });
  const changes = (by: string, prefix: string) =>
    endOf((done) => judged(by).ask({ type: 'ChangesReq', prefix, after: 0, waitMs: 60_000, limitBytes: 1000 }, done));

  it('a page of changes is judged at its end, and has only keys of the rule (AR4)', () => {
    node.page = page(node.ust, PHOTO, 'albums/7/photos/1/deep');
    expect(changes('bob', 'albums/7/photos/')).toMatchObject({ transactions: [{ writes: [{ key: PHOTO }] }] });
    expect(changes('cid', 'albums/7/photos/')).toBe(deniedSee('list albums/7/photos/'));
    expect(changes('bob', 'albums/')).toMatch('PERMISSION_DENIED');
    expect(changes('bob', '')).toMatch('PERMISSION_DENIED');
  });

  it('a reader without permission is refused, whether something has changed or not (AR4)', () => {
    node.page = { from: node.ust, to: node.ust, transactions: [] };
    expect(changes('cid', 'albums/7/photos/')).toBe(deniedSee('list albums/7/photos/'));
    expect(changes('bob', 'albums/7/photos/')).toMatchObject({ transactions: [] });
  });

  it('a page over a change of the document that permits it is refused (AR4)', () => {
    const from = node.ust;
    node.store({ [ALBUM]: { owner: 'ann', readers: ['bob'] } });
    node.page = page(from, PHOTO);
    expect(changes('bob', 'albums/7/photos/')).toMatch('has changed in this range of time');
  });
});

describe('live scopes', () => {
  const change = (key: string, value: string | null, ct = node.ust) => ({
    key,
    contents: [{ ct, txId: 't', content: value }],
  });
  const scope = (watch: number, start: string) => ({
    watch,
    keys: [],
    ranges: [{ start, end: `${start.slice(0, -1)}0` }],
  });
  const named = (watch: number, ...keys: string[]) => ({ watch, keys, ranges: [] });
  const live = (by: JudgedCoordinator, ...add: Watch[]) =>
    endOf((done) =>
      by.ask({ type: 'LiveReq', reader: 1, after: 0, add, remove: [], waitMs: 60_000, limitBytes: 1000 }, done),
    );

  it('a scope whose permission is gone ends at that answer, without its changes; others go on (AR4)', () => {
    const bob = judged('bob');
    const contents = [{ content: '{"n":1}' }];
    node.changes_ = { to: node.store({ [PHOTO]: { n: 1 } }), changes: [change(PHOTO, '{"n":1}')] };
    expect(live(bob, scope(1, 'albums/7/photos/'), named(2, 'notes/1'))).toMatchObject({
      changes: [{ key: PHOTO, contents }],
    });
    node.store({ [ALBUM]: { owner: 'ann', readers: [] }, 'notes/1': { by: 'bob' } });
    const note = change('notes/1', '{"by":"bob"}');
    node.changes_ = { to: node.store({ [PHOTO]: { n: 2 } }), changes: [change(PHOTO, '{"n":2}'), note] };
    expect(live(bob)).toMatchObject({
      changes: [{ key: 'notes/1', contents: [{ content: '{"by":"bob"}' }] }],
      ended: [{ watch: 1, error: { code: 'PERMISSION_DENIED' } }],
    });
    expect(live(bob)).toEqual(expect.not.objectContaining({ ended: expect.anything() }));
  });

  /** The time of the node goes on. */
  const NOW = Date.UTC(2026, 0, 1);
  const later = (ms: number): void => {
    node.clock += packWall(NOW + ms) - packWall(NOW);
    node.ust = node.clock;
  };

  it('a scope without changes ends, too, some seconds after its permission has gone (AR4)', () => {
    const bob = judged('bob');
    node.changes_ = { to: node.ust, changes: [] };
    expect(live(bob, scope(1, 'albums/7/photos/'), named(2, PHOTO), scope(3, 'notes/'))).not.toHaveProperty('ended');
    const to = node.store({ [ALBUM]: { owner: 'ann', readers: [] } });
    node.changes_ = { to, changes: [] };
    expect(live(bob)).not.toHaveProperty('ended');
    later(5_000);
    node.changes_ = { to: node.ust, changes: [] };
    expect(live(bob)).toMatchObject({ ended: [{ watch: 1 }, { watch: 2 }] });
    later(5_000);
    node.changes_ = { to: node.ust, changes: [] };
    expect(live(bob)).not.toHaveProperty('ended');
  });

  it('a scope without changes is not judged before its first read, nor in a snapshot without own writes (AR3)', () => {
    const at = (ms: number) => packWall(NOW + ms);
    const answer = (by: JudgedCoordinator, to: number, ...add: Watch[]) => {
      node.changes_ = { to, changes: [] };
      return live(by, ...add);
    };
    // No album permits it, in any snapshot.
    const album = scope(1, 'albums/9/photos/');
    expect(answer(judged('ann'), at(0), album)).not.toHaveProperty('ended');
    const ann = judged('ann', at(7_000));
    expect(answer(ann, at(0), album)).not.toHaveProperty('ended');
    expect(answer(ann, at(6_000))).not.toHaveProperty('ended');
    expect(answer(ann, at(7_000))).toMatchObject({ ended: [{ watch: 1 }] });
  });

  it('of a long list of named keys without changes a part is judged at a time, and all of them in their turn (AR4)', () => {
    const keys = Array.from({ length: 250 }, (_, i) => `albums/7/photos/${i}`);
    const bob = judged('bob');
    const seen = new Set<string>();
    for (let i = 0; i < 4; i++) {
      node.changes_ = { to: node.ust, changes: [] };
      node.reads.length = 0;
      live(bob, ...(i === 0 ? [named(1, ...keys)] : []));
      const asked = node.reads.flat().filter((key) => keys.includes(key));
      expect(asked.length).toBeLessThanOrEqual(100);
      for (const key of asked) seen.add(key);
      later(5_000);
    }
    expect(seen.size).toBe(250);
  });

  interface Given {
    readonly policy: Policy | undefined;
    readonly principal: Principal;
  }

  it.each<[string, (given: Given) => Partial<Given>, string | undefined]>([
    ['other rules', () => ({ policy: policyOf(RULES.slice(1)) }), 'CHANGES_GONE'],
    ['the first rules', () => ({ policy: policyOf() }), 'CHANGES_GONE'],
    ['other claims', ({ principal }) => ({ principal: { ...principal, claims: { team: 'b' } } }), 'CHANGES_GONE'],
    ['fewer roles', ({ principal }) => ({ principal: { ...principal, roles: new Set() } }), 'CHANGES_GONE'],
    [
      'a newer token',
      ({ principal }) => ({ principal: { ...principal, claims: { team: 'a', exp: 2, iat: 1 }, expiresAt: 2 } }),
      undefined,
    ],
  ])('a live reader reads anew when what its documents were judged by has changed: %s (AR4)', (what, change, code) => {
    const principal = { ...principalOf('bob'), claims: { team: 'a', exp: 1, iat: 0 } };
    let given: Given = { policy: what === 'the first rules' ? undefined : policyOf(), principal };
    const session = {
      hwt: 0,
      now: () => 0,
      visible: () => undefined,
      places: PLACES,
      get principal() {
        return given.principal;
      },
    };
    const rules = {
      refused: () => undefined,
      get policy() {
        return given.policy;
      },
    };
    const bob = new JudgedCoordinator(node, rules, session);
    node.changes_ = { to: node.ust, changes: [] };
    expect(live(bob, scope(1, 'notes/'))).toMatchObject({ changes: [] });
    given = { ...given, ...change(given) };
    if (code === undefined) expect(live(bob)).toMatchObject({ changes: [] });
    else expect(live(bob)).toMatch(code);
  });

  it('a document that a filter hides is deleted for the reader, and one that it shows comes whole (AR4)', () => {
    const bob = judged('bob');
    node.store({ 'notes/1': { by: 'ann', n: 1 }, 'notes/2': { by: 'bob', n: 1 } });
    const given = new Update('[{"op":"set","path":"/by","value":"bob"}]');
    const to = node.store({ 'notes/1': { by: 'bob', n: 1 }, 'notes/2': { by: 'ann', n: 1 } });
    const update = { key: 'notes/1', contents: [{ ct: to, txId: 't', content: given }] };
    node.changes_ = { to, changes: [update, { ...change('notes/2', '{"by":"ann","n":1}'), replaced: [to - 1] }] };
    expect(live(bob, scope(1, 'notes/'))).toMatchObject({
      changes: [
        { key: 'notes/1', contents: [{ ct: to, content: '{"by":"bob","n":1}' }] },
        { key: 'notes/2', contents: [{ content: null }] },
      ],
    });
  });

  it('contents of before the permission are not shown: the reader gets the present document (AR4)', () => {
    const secret = (key: string, ct: number, after: object) => ({
      key,
      contents: [
        { ct: ct - 1, txId: 't', content: '{"secret":true}' },
        { ct, txId: 'u', content: new Update(`[{"op":"set","path":"","value":${JSON.stringify(after)}}]`) },
      ],
    });
    node.store({ [PHOTO]: { secret: true }, 'notes/1': { secret: true } });
    node.store({ [PHOTO]: { n: 1 }, 'notes/1': { n: 2 } });
    const to = node.ust;
    node.changes_ = { to, changes: [secret(PHOTO, to, { n: 1 }), secret('notes/1', to, { n: 2 })] };
    expect(live(judged('bob'), scope(1, 'albums/7/photos/'), named(2, 'notes/1'))).toMatchObject({
      changes: [
        { key: PHOTO, contents: [{ ct: to, content: '{"n":1}' }] },
        { key: 'notes/1', contents: [{ ct: to, content: '{"n":2}' }] },
      ],
    });
  });
});

it('without rules everything is allowed, and nothing is read beside the request', () => {
  const open = new JudgedCoordinator(
    node,
    { policy: undefined, refused: () => undefined },
    { principal: principalOf('cid'), hwt: 0, visible: () => undefined, now: () => 0, places: PLACES },
  );
  expect(read(open, PHOTO)).toMatchObject({ versions: [null] });
  expect(commit(open, { [PHOTO]: '{}' })).toMatchObject({ type: 'CommitResp' });
  expect(node.reads).toEqual([[PHOTO]]);
});
