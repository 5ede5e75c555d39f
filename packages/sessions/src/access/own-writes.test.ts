/** Refusals in snapshots that lack own writes of the session, which may permit what was asked for (AR3). */
import { ANONYMOUS_PRINCIPAL, IsochronError, type Timestamp } from '@isochron/core';
import type { ChangesResp } from '@isochron/protocols';
import { PLACES, VersionedCoordinator } from '@isochron/testing/sessions/access';
import { JudgedCoordinator } from './judged-coordinator.js';
import { Policy } from './policy.js';

const LIST = 'lists/7';
const ITEM = 'lists/7/items/1';
const RULES = [
  { name: 'own-lists', match: 'lists/{name}', allow: ['create'], when: 'incoming.owner == auth.id' },
  {
    name: 'owners-items',
    match: 'lists/{name}/items/{item}',
    allow: ['get', 'list', 'create'],
    when: "get('lists/' + name).owner == auth.id",
  },
] as const;

let node: VersionedCoordinator;
/** Refusals for the audit. */
let refused: string[];
/** Waits for a snapshot with the own writes. */
let waiting: ((error?: IsochronError) => void)[];
beforeEach(() => {
  node = new VersionedCoordinator();
  refused = [];
  waiting = [];
});

function ann(hwt: Timestamp): JudgedCoordinator {
  const rules = {
    policy: new Policy(RULES, ['lists']),
    refused: (_: unknown, { code }: IsochronError) => void refused.push(code),
  };
  return new JudgedCoordinator(node, rules, {
    principal: { ...ANONYMOUS_PRINCIPAL, id: 'ann' },
    hwt,
    now: () => 0,
    places: PLACES,
    visible: (ts, done) => void waiting.push((error) => done(error ?? ts)),
  });
}

/** Stable time stands still: the list is committed, and no snapshot has it. */
const ownList = (): Timestamp => {
  const made = node.store({ [LIST]: { owner: 'ann' } }, false);
  node.applied = node.ust;
  return made;
};

const OVERDUE = new IsochronError('STABLE_TIMEOUT', 'too late');

/** Asks, lets the wait for own writes end, and returns the ends of the request. */
function endsOf<T>(ask: (end: (result: T | IsochronError) => void) => void, wait?: IsochronError): unknown[] {
  const ends: unknown[] = [];
  ask((result) => ends.push(result instanceof IsochronError ? [result.code, result.retryable] : result));
  expect(ends).toEqual([]);
  for (const end of waiting.splice(0)) end(wait);
  return ends;
}

describe('while no snapshot has the own writes', () => {
  it('an item of a list that the session has just made is refused with SESSION_GAP, and may be repeated (AR3)', () => {
    const made = ownList();
    const request = { txId: 't', snapshot: node.ust, hwt: made, sentAfter: 0, attemptRegions: ['r'], principal: 'p' };
    const writes = [{ key: ITEM, value: '{}' }];
    const commit = (end: (result: unknown) => void): void =>
      ann(made).ask({ type: 'CommitReq', ...request, writes }, end);
    expect(endsOf(commit, OVERDUE)).toEqual([['SESSION_GAP', true]]);
    expect([node.ended, node.committed.size, refused]).toEqual([[], 0, []]);
    node.ust = made;
    node.applied = made;
    const ends: unknown[] = [];
    commit((result) => ends.push(result));
    expect(ends).toMatchObject([{ type: 'CommitResp' }]);
  });

  it('a read and a list under an own list are refused with SESSION_GAP, and may be repeated (AR3)', () => {
    const made = ownList();
    const range = { start: 'lists/7/items/', end: 'lists/7/items0', limit: 10 };
    const free = { txId: null, ust: node.ust, at: null };
    const read = endsOf((end) => ann(made).ask({ type: 'ReadReq', ...free, keys: [ITEM] }, end), OVERDUE);
    const list = endsOf((end) => ann(made).ask({ type: 'ListReq', ...free, keyspace: 'lists', range }, end), OVERDUE);
    expect([read, list, refused]).toEqual([[['SESSION_GAP', true]], [['SESSION_GAP', true]], []]);
  });
});

describe('the change feed of an own list', () => {
  const request = { type: 'ChangesReq', prefix: 'lists/7/items/', after: null, waitMs: 0, limitBytes: 1000 } as const;
  const follow = (hwt: Timestamp, wait?: IsochronError): unknown[] => {
    node.handlers.ChangesReq = (_, done) =>
      done({ type: 'ChangesResp', ref: 0, from: node.ust, to: node.ust, transactions: [] });
    return endsOf<ChangesResp>((end) => ann(hwt).ask(request, end), wait);
  };

  it('a page that ends below own writes is refused with SESSION_GAP until they are stable (AR3)', () => {
    expect(follow(ownList(), OVERDUE)).toEqual([['SESSION_GAP', true]]);
    expect(refused).toEqual([]);
  });

  it('a page that ends below own writes is asked for once more when they are stable (AR3)', () => {
    const made = ownList();
    node.handlers.ChangesReq = (_, done) =>
      done({ type: 'ChangesResp', ref: 0, from: node.ust, to: node.ust, transactions: [] });
    const ends: unknown[] = [];
    ann(made).ask(request, (result) => ends.push(result));
    node.ust = made;
    for (const end of waiting) end();
    expect(ends).toMatchObject([{ to: made, transactions: [] }]);
  });

  it('a page of before own writes that are stable is refused for good (AR3)', () => {
    const made = ownList();
    expect(follow(made)).toEqual([['PERMISSION_DENIED', false]]);
    expect(refused).toEqual(['PERMISSION_DENIED']);
  });
});
