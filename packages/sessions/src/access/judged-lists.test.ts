/** Pages of lists whose rules hide some of the keys (AR10). */
import { ANONYMOUS_PRINCIPAL, compareKeys, IsochronError } from '@isochron/core';
import type { ListResp } from '@isochron/protocols';
import { PLACES, VersionedCoordinator } from '@isochron/testing/sessions/access';
import { shownPart } from '../tokens/list-places.js';
import { JudgedCoordinator } from './judged-coordinator.js';
import { Policy, type RuleSource } from './policy.js';

const OWN = {
  name: 'own-notes',
  match: 'notes/{note}',
  allow: ['list'],
  when: 'document.by == auth.id',
  filter: true,
} as const;

let node: VersionedCoordinator;
beforeEach(() => {
  node = new VersionedCoordinator();
});

/** A page of a principal's list, or its error. */
function answer(start: string, limit = 2, id = 'bob', rule: RuleSource = OWN): ListResp | IsochronError {
  const principal = { ...ANONYMOUS_PRINCIPAL, id };
  const session = { principal, hwt: 0, now: () => 0, visible: () => undefined, places: PLACES };
  const rules = { policy: new Policy([rule], ['notes']), refused: () => undefined };
  let listed: ListResp | IsochronError | undefined;
  const range = { start, end: 'notes0', limit };
  new JudgedCoordinator(node, rules, session).ask(
    { type: 'ListReq', txId: null, ust: 0, at: null, keyspace: 'notes', range },
    (result) => {
      listed = result;
    },
  );
  return listed!;
}

it('what a page examines beside its limit does not count for the bound of other documents (AR6, AR10)', () => {
  const isNone = (n: number) => `get('notes/' + document.team + '-${n}') == null`;
  const when = `document.by == auth.id && ${Array.from({ length: 10 }, (_, n) => isNone(n)).join(' && ')}`;
  node.store(Object.fromEntries(Array.from({ length: 300 }, (_, i) => [keyOf(i), { by: 'bob', team: `t${i}` }])));
  for (const start of [0, 1, 2, 3, 4]) {
    const entries = [{ key: keyOf(start) }, { key: keyOf(start + 1) }];
    expect(answer(keyOf(start), 2, 'bob', { ...OWN, when })).toMatchObject({ entries });
  }
});

const page = (start: string, limit?: number): ListResp => answer(start, limit) as ListResp;

const keyOf = (i: number): string => `notes/${String(i).padStart(4, '0')}`;
const notes = (by: (i: number) => string, count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [keyOf(i), { by: by(i) }]));

it('no page names a hidden key, and all pages together show each visible key once (AR10)', () => {
  const isBobs = (i: number) => i % 3 === 0 || (i > 500 && i % 400 === 0);
  node.store(notes((i) => (isBobs(i) && (i < 100 || i > 900) ? 'bob' : 'ann'), 1_300));
  const seen: string[] = [];
  for (let start = 'notes/'; ; ) {
    const { entries, next } = page(start, 7);
    seen.push(...entries.map(({ key }) => key));
    if (next === null) break;
    expect(shownPart(next)).toBe(seen.at(-1) ?? 'notes/');
    expect(compareKeys(next, start)).toBeGreaterThan(0);
    start = next;
  }
  const bobs = Array.from({ length: 1_300 }, (_, i) => i).filter((i) => isBobs(i) && (i < 100 || i > 900));
  expect(seen).toEqual(bobs.map(keyOf));
});

it('a page does the same work whatever is hidden: no start shows whether a hidden key lies behind it (AR10)', () => {
  node.store(notes((i) => (i === 40 ? 'bob' : 'ann'), 41));
  for (let i = 0; i <= 40; i++)
    for (const start of [keyOf(i), `${keyOf(i)}\0`])
      if (start <= keyOf(40)) expect(page(start, 1)).toMatchObject({ entries: [{ key: keyOf(40) }], next: null });
  expect(node.lists).toBe(81);
});

it('where a page ends without a visible key shows no key: starts beside one another end it or not (AR10)', () => {
  node.store(notes((i) => (i === 160 ? 'bob' : 'ann'), 161));
  const isFound = Array.from({ length: 60 }, (_, i) => page(keyOf(i)).entries.length === 1);
  const changes = isFound.slice(1).filter((found, i) => found !== isFound[i]).length;
  expect(changes).toBeGreaterThan(5);
});

it('the place of a next page has no part of a hidden key, and its length is that of all places (AR10)', () => {
  node.store(notes(() => 'ann', 1_000));
  const [first, again] = [page('notes/').next!, page('notes/').next!];
  expect(first).not.toBe(again);
  expect(first).toHaveLength(again.length);
  expect(first.length).toBe('notes/'.length + 1 + 8 + Math.ceil(((12 + 256 + 16) * 4) / 3));
});

it('a place is refused from another principal, and when it was changed', () => {
  node.store(notes(() => 'ann', 1_000));
  const place = page('notes/').next!;
  const code = (result: ListResp | IsochronError) => result instanceof IsochronError && result.code;
  expect(code(answer(place))).toBe(false);
  expect(code(answer(place, 2, 'cid'))).toBe('CURSOR_INVALID');
  expect(code(answer(place.replace('notes/', 'notes/1')))).toBe('CURSOR_INVALID');
  expect(code(answer(`${place.slice(0, -9)}AAAAAAAAA`))).toBe('CURSOR_INVALID');
});
