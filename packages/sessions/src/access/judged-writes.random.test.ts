/** Random transactions, judged in a snapshot and on newer versions, against a model of the rules (AR8, AR9). */
import { ANONYMOUS_PRINCIPAL, IsochronError, type KeyWrite, Update } from '@isochron/core';
import { PLACES, VersionedCoordinator } from '@isochron/testing/sessions/access';
import fc from 'fast-check';
import { JudgedCoordinator } from './judged-coordinator.js';
import { Policy } from './policy.js';

const POLICY = new Policy(
  [
    { name: 'make', match: 'albums/{album}', allow: ['create'], when: 'incoming.owner == auth.id' },
    { name: 'edit', match: 'albums/{album}', allow: ['update', 'delete'], when: 'document.owner == auth.id' },
    {
      name: 'add',
      match: 'photos/{album}/{photo}',
      allow: ['create', 'update', 'delete'],
      when: "getAfter('albums/' + album).owner == auth.id",
    },
  ],
  ['albums', 'photos'],
);
const ALBUMS = ['1', '2'];

/** Owners of albums by their names; null where there is none. */
type Owners = Readonly<Record<string, string | null>>;
interface Change {
  readonly kind: 'put' | 'update' | 'claim' | 'delete';
  readonly owner: string;
}

const owner = fc.constantFrom('ann', 'bob');
const owners: fc.Arbitrary<Owners> = fc.record(
  Object.fromEntries(ALBUMS.map((album) => [album, fc.option(owner, { nil: null })])),
);
const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('put', 'update', 'claim', 'delete'),
  owner,
});
const changes = fc.dictionary(fc.constantFrom(...ALBUMS), change);
const photos = fc.uniqueArray(fc.constantFrom(...ALBUMS), { maxLength: 2 });

const documentsOf = (given: Owners): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(given).map(([album, by]) => [`albums/${album}`, by === null ? null : { owner: by }]),
  );

function contentOf({ kind, owner: by }: Change): KeyWrite['value'] {
  if (kind === 'delete') return null;
  if (kind === 'put') return JSON.stringify({ owner: by });
  if (kind === 'claim') return new Update(JSON.stringify([{ op: 'init', value: { owner: by } }]));
  return new Update(JSON.stringify([{ op: 'set', path: '/owner', value: by }]));
}

/** The owner of an album after a change. */
function ownerAfter(before: string | null, one: Change | undefined): string | null {
  if (one === undefined) return before;
  if (one.kind === 'delete') return null;
  return one.kind === 'claim' ? (before ?? one.owner) : one.owner;
}

/** Whether the rules allow ann's transaction with these albums. */
function isAllowed(given: Owners, albums: Readonly<Record<string, Change>>, added: readonly string[]): boolean {
  const after = (album: string) => ownerAfter(given[album] ?? null, albums[album]);
  const changed = Object.keys(albums).every((album) => {
    if (given[album] != null) return given[album] === 'ann';
    return after(album) === 'ann';
  });
  return changed && added.every((album) => after(album) === 'ann');
}

it('a write is done where the rules hold with its transaction in the snapshot and on the newest versions (AR8, AR9)', () => {
  fc.assert(
    fc.property(owners, owners, changes, photos, (old, newest, albums, added) => {
      const writes = [
        ...Object.entries(albums).map(([album, one]) => ({ key: `albums/${album}`, value: contentOf(one) })),
        ...added.map((album) => ({ key: `photos/${album}/1`, value: '{}' })),
      ];
      fc.pre(writes.length > 0);
      const node = new VersionedCoordinator();
      node.store(documentsOf(old));
      node.store(documentsOf(newest), false);
      const session = {
        principal: { ...ANONYMOUS_PRINCIPAL, id: 'ann' },
        hwt: 0,
        now: () => 0,
        visible: () => {},
        places: PLACES,
      };
      const order = { txId: 't', snapshot: node.ust, hwt: 0, sentAfter: 0, attemptRegions: ['r'], principal: 'ann' };
      let end: unknown;
      new JudgedCoordinator(node, { policy: POLICY, refused: () => {} }, session).ask(
        { type: 'CommitReq', ...order, writes },
        (result) => {
          end = result instanceof IsochronError ? result.code : 'committed';
        },
      );
      const [then, now] = [isAllowed(old, albums, added), isAllowed(newest, albums, added)];
      expect(end).toBe(now ? (then ? 'committed' : 'SNAPSHOT_UNAVAILABLE') : 'PERMISSION_DENIED');
    }),
    { numRuns: 1_000 },
  );
});
