/** Pages of lists whose rules hide some of the keys. */
import { ANONYMOUS_PRINCIPAL } from '@isochron/core';
import type { ListResp } from '@isochron/protocols';
import { VersionedCoordinator } from '../testing/access.js';
import { JudgedCoordinator } from './judged-coordinator.js';
import { Policy } from './policy.js';

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

/** A page of bob's list. */
function page(start: string, limit = 2): ListResp {
  const session = { principal: { ...ANONYMOUS_PRINCIPAL, id: 'bob' }, hwt: 0, now: () => 0, visible: () => undefined };
  const rules = { policy: new Policy([OWN], ['notes']), refused: () => undefined };
  let listed: unknown;
  const range = { start, end: 'notes0', limit };
  new JudgedCoordinator(node, rules, session).list(
    { txId: null, ust: 0, at: null, keyspace: 'notes', range },
    (result) => {
      listed = result;
    },
  );
  return listed as ListResp;
}

const notes = (by: (i: number) => string, count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`notes/${String(i).padStart(3, '0')}`, { by: by(i) }]));

it('no page names a hidden key as the place of the next one, and all pages together show each visible key once', () => {
  node.store(notes((i) => (i % 3 === 0 ? 'bob' : 'ann'), 40));
  const seen: string[] = [];
  for (let start: string | null = 'notes/'; start !== null; ) {
    const { entries, next } = page(start);
    seen.push(...entries.map(({ key }) => key));
    expect(next === null || next === `${seen.at(-1)}\0`).toBe(true);
    start = next;
  }
  expect(seen).toEqual(Object.keys(notes(() => '', 40)).filter((_, i) => i % 3 === 0));
});

it('pages without a visible key are passed over, ten at most in one request, and then the place is no whole key', () => {
  node.store(notes((i) => (i === 60 ? 'bob' : 'ann'), 61));
  const first = page('notes/');
  expect([first.entries, node.lists]).toEqual([[], 11]);
  // The key there is notes/022: only as much of it as lies above notes/021.
  expect(first.next).toBe('notes/022');
  expect(page(first.next!, 4)).toMatchObject({ entries: [{ key: 'notes/060' }], next: null });
  node.store({ 'notes/0215-and-what-follows': { by: 'ann' } });
  expect(page('notes/').next).toBe('notes/0215');
});
