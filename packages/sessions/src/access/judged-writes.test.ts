/** Writes are judged in their snapshot and on the newest versions (AR8), and see what their transaction makes (AR9). */
import {
  ANONYMOUS_PRINCIPAL,
  HLC_EPOCH_MS,
  IsochronError,
  type KeyWrite,
  type Timestamp,
  Update,
} from '@isochron/core';
import type { CommitResp } from '@isochron/protocols';
import { PLACES, VersionedCoordinator } from '@isochron/testing/sessions/access';
import { JudgedCoordinator } from './judged-coordinator.js';
import { Policy } from './policy.js';

const ALBUM = 'albums/7';
const PHOTO = 'albums/7/photos/1';
/** Some time after the snapshots of these tests, ms. */
const SOON = HLC_EPOCH_MS + 1_000;
const RULES = [
  { name: 'own-albums', match: 'albums/{album}', allow: ['create'], when: 'incoming.owner == auth.id' },
  { name: 'owners-change', match: 'albums/{album}', allow: ['update', 'delete'], when: 'document.owner == auth.id' },
  {
    name: 'owners-add',
    match: 'albums/{album}/photos/{photo}',
    allow: ['create', 'update'],
    when: "getAfter('albums/' + album).owner == auth.id",
  },
  {
    name: 'last-photo',
    match: 'albums/{album}/photos/{photo}',
    allow: ['delete'],
    when: "getAfter('albums/' + album) == null",
  },
  { name: 'names', match: 'names/{name}', allow: ['create'] },
  { name: 'bids', match: 'bids/{bid}', allow: ['create'], when: "at < get('sales/1').endsAt" },
  { name: 'early', match: 'early/{id}', allow: ['create'], when: `at >= double(${SOON})` },
] as const;

let node: VersionedCoordinator;
/** The clock of the coordinator, ms. */
let nowMs: number;
beforeEach(() => {
  node = new VersionedCoordinator();
  nowMs = 0;
});

function judged(by: string): JudgedCoordinator {
  const policy = new Policy(RULES, ['albums', 'names', 'bids', 'sales', 'early']);
  return new JudgedCoordinator(
    node,
    { policy, refused: () => undefined },
    {
      principal: { ...ANONYMOUS_PRINCIPAL, id: by },
      hwt: 0,
      now: () => nowMs,
      places: PLACES,
      visible: (ts, done) => done(ts),
    },
  );
}

/** Opens a transaction in the present stable snapshot, or in an older one. */
function open(by: string, at: Timestamp | null = null): { by: JudgedCoordinator; txId: string; snapshot: null } {
  const coordinator = judged(by);
  const txId = `open-${by}-${at}-${node.clock}`;
  coordinator.ask({ type: 'StartTxReq', txId, ust: 0, at }, () => undefined);
  return { by: coordinator, txId, snapshot: null };
}

let transactions = 0;
/** The end of a commit: its result, or its error as text; undefined while it waits. */
function commit(
  by: string | JudgedCoordinator,
  writes: Record<string, KeyWrite['value']>,
  order: object = {},
): CommitResp | string | undefined {
  const box: { end?: CommitResp | string } = {};
  const request = { txId: `t${transactions++}`, snapshot: node.ust, hwt: 0, sentAfter: 0, attemptRegions: ['r'] };
  const all = Object.entries(writes).map(([key, value]) => ({ key, value }));
  const coordinator = typeof by === 'string' ? judged(by) : by;
  coordinator.ask({ type: 'CommitReq', ...request, principal: 'p', writes: all, ...order }, (result) => {
    const isError = result instanceof IsochronError;
    box.end = isError ? `${result.code}${result.retryable ? ' (retryable)' : ''}: ${result.message}` : result;
  });
  return box.end;
}

const COMMITTED = { type: 'CommitResp' };
const OWNED_BY = (owner: string): string => JSON.stringify({ owner });
const LATER = 'SNAPSHOT_UNAVAILABLE (retryable)';

describe('the newest versions', () => {
  it('a stranger who opens a transaction in a snapshot without an album cannot create the album over it (AR8)', () => {
    const before = node.ust;
    node.store({ [ALBUM]: { owner: 'ann' } });
    const stranger = open('bob', before);
    expect(commit(stranger.by, { [ALBUM]: OWNED_BY('bob') }, stranger)).toMatch('PERMISSION_DENIED');
    expect(node.document(ALBUM)).toEqual({ owner: 'ann' });
    expect(node.ended).toEqual([stranger.txId]);
  });

  it('a create over a claim that was decided since the snapshot is refused, for a value and for a claim (AR8)', () => {
    const before = node.ust;
    node.store({ 'names/ann': { by: 'ann' } });
    const claim = new Update('[{"op":"init","value":{"by":"bob"}}]');
    for (const write of ['{"by":"bob"}', claim]) {
      const { by, ...order } = open('bob', before);
      expect(commit(by, { 'names/ann': write }, order)).toMatch('PERMISSION_DENIED');
    }
  });

  it('a revocation that a replica has applied is in force, also while stable time stands still (AR8)', () => {
    node.store({ [ALBUM]: { owner: 'ann' } });
    expect(commit('ann', { [PHOTO]: '{}' })).toMatchObject(COMMITTED);
    node.store({ [ALBUM]: { owner: 'cid' } }, false);
    expect(commit('ann', { [PHOTO]: '{}' })).toMatch('PERMISSION_DENIED: The access rule owners-add');
    const opened = open('ann');
    expect(commit(opened.by, { [PHOTO]: '{}' }, opened)).toMatch('PERMISSION_DENIED');
    // A replica that has not applied it yet judges by what it has: the window that remains.
    node.applied = node.ust;
    expect(commit('ann', { [PHOTO]: '{}' })).toMatchObject(COMMITTED);
  });

  it('a delete that a replica has applied counts: its document is null, and not that of the snapshot (AR8)', () => {
    node.store({ [ALBUM]: { owner: 'ann' } });
    node.store({ [ALBUM]: null }, false);
    expect(commit('ann', { [PHOTO]: '{}' })).toMatch('PERMISSION_DENIED');
  });

  it('what only the newest versions allow is refused for now, and may be repeated (AR8)', () => {
    node.store({ [ALBUM]: { owner: 'cid' } });
    const given = node.store({ [ALBUM]: { owner: 'ann' } }, false);
    const order = { txId: 'again', snapshot: node.ust };
    expect(commit('ann', { [PHOTO]: '{}' }, order)).toMatch(LATER);
    expect(node.ended).toEqual([]);
    node.ust = given;
    expect(commit('ann', { [PHOTO]: '{}' }, order)).toMatchObject(COMMITTED);
  });

  it('an open transaction stays in its snapshot: what that refuses is refused for good (AR8)', () => {
    node.store({ [ALBUM]: { owner: 'cid' } });
    const opened = open('ann');
    node.store({ [ALBUM]: { owner: 'ann' } });
    expect(commit(opened.by, { [PHOTO]: '{}' }, opened)).toMatch('PERMISSION_DENIED: The access rule owners-add');
  });

  it('both verdicts stand in one round: each read brings the snapshot and the newest versions (AR8)', () => {
    node.store({ [ALBUM]: { owner: 'ann' } });
    commit('ann', { [PHOTO]: '{}' });
    expect(node.reads).toEqual([[PHOTO], ['albums/7']]);
  });

  it('an end that the clock of the coordinator has passed is passed, however old the snapshot is (AR8)', () => {
    node.store({ 'sales/1': { endsAt: SOON } });
    nowMs = SOON - 1;
    expect(commit('ann', { 'bids/1': '{}' })).toMatchObject(COMMITTED);
    nowMs = SOON;
    expect(commit('ann', { 'bids/2': '{}' })).toMatch('PERMISSION_DENIED');
  });

  it('a beginning counts once the snapshot has reached it, and may be waited for (AR8)', () => {
    nowMs = SOON;
    expect(commit('ann', { 'early/1': '{}' })).toMatch(LATER);
    nowMs = SOON - 1;
    expect(commit('ann', { 'early/1': '{}' })).toMatch('PERMISSION_DENIED');
  });
});

describe('what the transaction itself writes', () => {
  it('an album and its photos are created in one transaction, by its owner alone (AR9)', () => {
    const all = { [ALBUM]: OWNED_BY('ann'), [PHOTO]: '{}', 'albums/7/photos/2': '{}' };
    expect(commit('bob', all)).toMatch('PERMISSION_DENIED');
    expect(commit('ann', { [PHOTO]: '{}' })).toMatch('PERMISSION_DENIED');
    expect(commit('ann', all)).toMatchObject(COMMITTED);
  });

  it('a document is seen as an update of the transaction makes it, in the snapshot and on the newest version (AR9)', () => {
    const given = (to: string) => new Update(`[{"op":"set","path":"/owner","value":"${to}"}]`);
    node.store({ [ALBUM]: { owner: 'ann' } });
    // After the transaction the album is another's.
    expect(commit('ann', { [ALBUM]: given('bob'), [PHOTO]: '{}' })).toMatch('PERMISSION_DENIED');
    expect(commit('ann', { [ALBUM]: given('ann'), [PHOTO]: '{}' })).toMatchObject(COMMITTED);
    node.store({ [ALBUM]: { owner: 'cid' } }, false);
    expect(commit('ann', { [ALBUM]: given('ann'), [PHOTO]: '{}' })).toMatch('PERMISSION_DENIED');
  });

  it('a document that the transaction deletes is null after it (AR9)', () => {
    node.store({ [ALBUM]: { owner: 'ann' }, [PHOTO]: {} });
    expect(commit('ann', { [PHOTO]: null })).toMatch('PERMISSION_DENIED: The access rule last-photo');
    expect(commit('ann', { [PHOTO]: null, [ALBUM]: null })).toMatchObject(COMMITTED);
  });

  it('a claim of a parent lets the transaction fill it, and a lost claim does not (AR9)', () => {
    const claim = (by: string) => new Update(`[{"op":"init","value":{"owner":"${by}"}}]`);
    expect(commit('ann', { [ALBUM]: claim('ann'), [PHOTO]: '{}' })).toMatchObject(COMMITTED);
    node.ust = node.clock;
    expect(commit('bob', { [ALBUM]: claim('bob'), 'albums/7/photos/2': '{}' })).toMatch('PERMISSION_DENIED');
  });
});
