/** What live readers and readers of the feed learn of changes that rules hide from them: nothing (LQ7). */
import { ANONYMOUS_PRINCIPAL, IsochronError, type Principal } from '@isochron/core';
import type { KeyChanges, Watch } from '@isochron/protocols';
import { PLACES, VersionedCoordinator } from '@isochron/testing/sessions/access';
import type { LiveAnswer } from '../coordinator/coordinator-port.js';
import { JudgedCoordinator } from './judged-coordinator.js';
import { Policy, type RuleSource } from './policy.js';

const OWN_NOTES: RuleSource = {
  name: 'own-notes',
  match: 'notes/{note}',
  allow: ['list'],
  when: 'document.by == auth.id',
  filter: true,
};
const CARDS_OF_BOARDS: RuleSource = {
  name: 'cards-of-boards',
  match: 'boards/{board}/cards/{card}',
  allow: ['list'],
  when: "get('boards/' + board).owner == auth.id",
  filter: true,
};
const UNTIL_EXPIRED: RuleSource = {
  name: 'until-expired',
  match: 'offers/{offer}',
  allow: ['list'],
  when: 'document.until > at',
  filter: true,
};
const LEADERS: RuleSource = {
  name: 'leaders-see-notes',
  match: 'notes/{note}',
  allow: ['list'],
  when: "auth.id in get('plans/leaders').ids",
};
const ALL_PHOTOS: RuleSource = { name: 'all-photos', match: 'photos/{photo}', allow: ['list'] };
const TEAM: RuleSource = {
  name: 'team-plans',
  match: 'plans/{plan}',
  allow: ['get', 'list'],
  when: "auth.claims.team == 'blue' && 'operator' in auth.roles",
};

let node: VersionedCoordinator;
let refused: string[];
beforeEach(() => {
  node = new VersionedCoordinator();
  refused = [];
});

function judgedFor(principal: Partial<Principal> = {}, more: readonly RuleSource[] = []): JudgedCoordinator {
  const keyspaces = ['notes', 'boards', 'photos', 'plans', 'offers'];
  const policy = new Policy([OWN_NOTES, CARDS_OF_BOARDS, ALL_PHOTOS, TEAM, UNTIL_EXPIRED, ...more], keyspaces);
  const rules = { policy, refused: (_: Principal, { message }: IsochronError) => void refused.push(message) };
  const bob = { ...ANONYMOUS_PRINCIPAL, id: 'bob', ...principal };
  return new JudgedCoordinator(node, rules, {
    principal: bob,
    hwt: 0,
    visible: () => undefined,
    now: () => 0,
    places: PLACES,
  });
}

const range = (watch: number, keyspace: string): Watch => ({
  watch,
  keys: [],
  ranges: [{ start: `${keyspace}/`, end: `${keyspace}0` }],
});

function live(after: number, add: readonly Watch[], bob = judgedFor()): LiveAnswer {
  let end: unknown;
  const request = { reader: 1, after, add: [...add], remove: [], waitMs: 60_000, limitBytes: 1_000 };
  bob.ask({ type: 'LiveReq', ...request }, (result) => {
    end = result;
  });
  return end as LiveAnswer;
}

/** The next answer has the change of a key at a time. */
function changed(key: string, ct: number, value: unknown, replaced?: readonly number[]): void {
  const contents = [{ ct, txId: 't', content: value === null ? null : JSON.stringify(value) }];
  node.changes_ = { to: ct, changes: [{ key, contents, replaced } as KeyChanges] };
}

describe('a live query over a filtered range', () => {
  it.each([
    ['written', { by: 'ann', n: 2 }],
    ['deleted', null],
  ])('a hidden document that is %s is no answer: the wait goes on as without a change (LQ7)', (_what, value) => {
    const after = node.store({ 'notes/1': { by: 'ann', n: 1 } });
    changed('notes/1', node.store({ 'notes/1': value }), value);
    const answer = live(after, [range(1, 'notes')]);
    expect(answer.changes).toEqual([]);
    expect(node.lives.map(({ after: at }) => at)).toEqual([after, after + 1]);
    expect(node.lives[1]).toMatchObject({ add: [], remove: [], waitMs: 5_000 });
  });

  it('a document that becomes hidden is taken away from the reader that had it, once (LQ7)', () => {
    const after = node.store({ 'notes/1': { by: 'bob' } });
    const hidden = node.store({ 'notes/1': { by: 'ann' } });
    changed('notes/1', hidden, { by: 'ann' });
    const bob = judgedFor();
    expect(live(after, [range(1, 'notes')], bob).changes).toMatchObject([
      { key: 'notes/1', contents: [{ content: null }] },
    ]);
    changed('notes/1', node.store({ 'notes/1': { by: 'ann', n: 2 } }), { by: 'ann', n: 2 });
    expect(live(hidden, [], bob).changes).toEqual([]);
  });

  it('a document that was visible for a moment within the answer is taken away: the reader may have read it (LQ7)', () => {
    const after = node.ust;
    const shown = node.store({ 'notes/1': { by: 'bob' } });
    changed('notes/1', node.store({ 'notes/1': { by: 'ann' } }), { by: 'ann' }, [shown]);
    expect(live(after, [range(1, 'notes')]).changes).toMatchObject([{ key: 'notes/1', contents: [{ content: null }] }]);
  });

  it('a reader reads anew where too much has changed to find out what it may have (LQ7)', () => {
    const after = node.ust;
    changed(
      'notes/1',
      node.store({ 'notes/1': { by: 'ann' } }),
      { by: 'ann' },
      Array.from({ length: 100 }, (_, i) => i),
    );
    expect(live(after, [range(1, 'notes')])).toMatchObject({ code: 'CHANGES_GONE' });
  });

  it('a range that a rule filters by other documents is refused at once, and never empty without an error', () => {
    node.changes_ = { to: node.ust, changes: [] };
    const { ended } = live(node.ust, [range(3, 'boards'), range(4, 'notes')]);
    const message =
      'The access rule cards-of-boards filters boards/ (watch 3) by other documents, or by the time: such lists can be read, and not watched.';
    expect(ended).toMatchObject([{ watch: 3, error: { code: 'PERMISSION_DENIED', message } }]);
    expect(node.lives.map(({ waitMs }) => waitMs)).toEqual([0]);
  });
});

it('a range that a rule filters by the time is refused at once: documents would stay that it hides by now', () => {
  node.changes_ = { to: node.ust, changes: [] };
  const { ended } = live(node.ust, [range(5, 'offers')]);
  expect(ended).toMatchObject([{ watch: 5, error: { code: 'PERMISSION_DENIED' } }]);
});

describe('a range whose documents a filter shows to some, and another rule to others', () => {
  const leads = (...ids: string[]) => node.store({ 'plans/leaders': { ids } });
  const idle = (): void => {
    node.changes_ = { to: node.ust, changes: [] };
  };

  it.each([
    ['loses', ['bob'], []],
    ['gets', [], ['bob']],
  ])(
    'a reader that %s the permission for all of them reads anew: its documents are others by now',
    (_what, was, is) => {
      const bob = judgedFor({}, [LEADERS]);
      const after = leads(...was);
      idle();
      expect(live(after, [range(1, 'notes')], bob)).toMatchObject({ changes: [] });
      leads(...is);
      changed('notes/1', node.store({ 'notes/1': { by: 'ann' } }), { by: 'ann' });
      expect(live(after, [], bob)).toMatchObject({ code: 'CHANGES_GONE' });
    },
  );

  it('so does one that was judged before, and nothing is read anew as long as the same rule permits it', () => {
    const bob = judgedFor({}, [LEADERS]);
    const after = leads('bob');
    const write = (n: number) => changed('notes/1', node.store({ 'notes/1': { by: 'ann', n } }), { by: 'ann', n });
    write(1);
    expect(live(after, [range(1, 'notes')], bob)).toMatchObject({ changes: [{ key: 'notes/1' }] });
    write(2);
    expect(live(after, [], bob)).toMatchObject({ changes: [{ key: 'notes/1' }] });
    leads();
    write(3);
    expect(live(after, [], bob)).toMatchObject({ code: 'CHANGES_GONE' });
  });
});

it('hidden changes alone are no page of the feed: the wait goes on from behind them (LQ7)', () => {
  const from = node.ust;
  const ct = node.store({ 'photos/1/deep': {} });
  const writes = [{ key: 'photos/1/deep', value: '{}' }];
  node.page = { from, to: ct, transactions: [{ txId: 't', ct, writes }] };
  let page: unknown;
  judgedFor().ask(
    { type: 'ChangesReq', prefix: 'photos/', after: from, waitMs: 60_000, limitBytes: 1_000 },
    (result) => {
      page = result;
    },
  );
  expect(page).toMatchObject({ from, to: ct, transactions: [] });
  expect(node.pages.map(({ after }) => after)).toEqual([from, ct]);
});

describe('a refusal', () => {
  const read = (principal: Partial<Principal>, key: string): string => {
    let message = '';
    judgedFor(principal).ask({ type: 'ReadReq', txId: null, ust: 0, at: null, keys: [key] }, (result) => {
      if (result instanceof IsochronError) message = result.message;
    });
    expect(refused).toEqual([message]);
    return message;
  };
  it.each<[string, Partial<Principal>, string, string]>([
    [
      'claim',
      { claims: {} },
      'plans/1',
      'rule team-plans does not allow this principal to get plans/1: it lacks the claim team.',
    ],
    [
      'role',
      { claims: { team: 'blue' }, roles: new Set(['reader'] as const) },
      'plans/1',
      'rule team-plans does not allow this principal to get plans/1: it lacks the role operator.',
    ],
    [
      'role of all reads',
      { roles: new Set() },
      'plans/1',
      'No access rule allows this principal to get plans/1: it lacks the role reader.',
    ],
    [
      'nothing',
      { claims: { team: 'red' } },
      'plans/1',
      'rule team-plans does not allow this principal to get plans/1.',
    ],
    ['rule', {}, 'notes/1', 'No access rule allows this principal to get notes/1.'],
  ])('names the rule, the key, and the missing %s, for the caller and for the audit', (_what, principal, key, text) => {
    expect(read(principal, key)).toContain(text);
  });
});

it('a request for changes waits five seconds at most, so that permission is judged that often (AR4)', () => {
  node.changes_ = { to: node.ust, changes: [] };
  live(node.ust, [range(1, 'notes')]);
  expect(node.lives.at(-1)?.waitMs).toBe(5_000);
});
