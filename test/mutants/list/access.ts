/** Access rules (AR1 to AR5, AR8 to AR10, LQ7), and what is each principal's own (U4). */
import type { Mutant, Profile } from '../mutant.js';
import {
  JUDGE,
  JUDGED_COORDINATOR,
  JUDGED_SCOPES,
  JUDGED_WRITES,
  OWNED_IDS,
  REFUSED_COMMITS,
  RULE_READS,
} from './files.js';

/** Every run has albums, whose owners change who sees them. */
const ALBUMS: Profile = { reads: 'albums' };
/** Every run has boards, whose owners change who writes to them. */
const BOARDS: Profile = { writes: 'boards' };
/** Every run has notes, which a rule filters. */
const NOTES: Profile = { reads: 'notes' };
const VERDICT = 'done(refusedNow ?? (refused && new NotYetPermitted(refused)) ?? {})';

export const ACCESS_MUTANTS: readonly Mutant[] = [
  {
    name: 'status-for-every-principal',
    breaks: 'U4',
    does: 'stores ids without their principals, so that each principal is told the status of all',
    patches: [{ file: OWNED_IDS, in: 'storedTxId', find: "holder === ''", replace: 'holder.length >= 0' }],
    seeds: { from: 11, count: 40 },
    profile: { environment: { credentialsMs: 60_000 } },
  },
  {
    name: 'rules-at-the-newest-snapshot',
    breaks: 'AR1',
    does: 'judges by the newest documents instead of those of the snapshot that is read',
    patches: [
      { file: JUDGE, in: 'Judge.read', find: '...wanted(snapshot, snapshot)', replace: '...wanted(snapshot, null)' },
    ],
    seeds: { from: 22, count: 40 },
    profile: ALBUMS,
  },
  {
    name: 'rules-at-an-older-snapshot',
    breaks: 'AR1',
    does: 'judges by documents that are half a second older than the snapshot that is read',
    patches: [
      {
        file: JUDGE,
        in: 'Judge.read',
        find: '...wanted(snapshot, snapshot)',
        replace: '...wanted(snapshot, { ts: Math.max(0, snapshot.ts - 500 * 4096) })',
      },
    ],
    seeds: { from: 18, count: 40 },
    profile: ALBUMS,
  },
  {
    name: 'refused-after-the-commit',
    breaks: 'AR2',
    does: 'begins a commit before its refusal',
    patches: [
      {
        file: REFUSED_COMMITS,
        in: 'endRefused',
        find: 'const { txId } = request;',
        replace: 'const { txId } = request; port.ask(request, () => undefined, coordinator);',
      },
    ],
    seeds: { from: 1, count: 40 },
    profile: ALBUMS,
  },
  {
    name: 'own-writes-are-not-judged-with',
    breaks: 'AR3',
    does: 'refuses at once what the own writes of the session would allow',
    patches: [
      {
        file: JUDGED_COORDINATOR,
        in: 'JudgedCoordinator.#judged',
        find: 'if (isFree && highest > request.ust)',
        replace: 'if (highest < 0)',
      },
    ],
    seeds: { from: 1, count: 40 },
    profile: { ...ALBUMS, faults: { kinds: [], count: 0, untilMs: 0 } },
  },
  {
    name: 'refused-for-good-without-own-writes',
    breaks: 'AR3',
    does: 'refuses for good, while stable time stands still, what the own writes of the session would allow',
    patches: [
      {
        file: JUDGED_COORDINATOR,
        in: 'JudgedCoordinator.#judged',
        find: 'if (stable instanceof IsochronError) end(notYetVisible());',
        replace:
          'if (stable instanceof IsochronError) end(result instanceof NotYetPermitted ? result.denied : result);',
      },
    ],
    seeds: { from: 1, count: 40 },
    profile: { ...ALBUMS, faults: { kinds: ['freeze', 'cutLink'], count: 4, untilMs: 500 } },
  },
  {
    name: 'live-judged-before-its-end',
    breaks: 'AR4',
    does: 'judges an answer to live queries half a second before its end',
    patches: [
      {
        file: JUDGED_SCOPES,
        in: 'JudgedScopes.judge',
        find: 'snapshot: { ts: answer.to }',
        replace: 'snapshot: { ts: Math.max(0, answer.to - 500 * 4096) }',
      },
    ],
    seeds: { from: 40, count: 40 },
    profile: ALBUMS,
  },
  {
    name: 'page-across-a-permission',
    breaks: 'AR4',
    does: 'gives a page of the change feed although the permission has come within it',
    patches: [
      {
        file: JUDGED_COORDINATOR,
        in: 'JudgedCoordinator.#judgePage',
        find: 'some((key) => hasChanged(versions.get(key), page.from))',
        replace: 'some(() => false)',
      },
    ],
    seeds: { from: 2, count: 40 },
    profile: ALBUMS,
  },
  {
    name: 'writes-by-the-snapshot-alone',
    breaks: 'AR8',
    does: 'permits a write by the documents of its snapshot, which may be old',
    patches: [{ file: JUDGED_WRITES, in: 'judgeWrites', find: VERDICT, replace: 'done(refused ?? {})' }],
    seeds: { from: 1, count: 40 },
    profile: BOARDS,
  },
  {
    name: 'writes-by-the-newest-alone',
    breaks: 'AR8',
    does: 'permits a write by the newest versions of a replica, which are not in every region',
    patches: [{ file: JUDGED_WRITES, in: 'judgeWrites', find: VERDICT, replace: 'done(refusedNow ?? {})' }],
    seeds: { from: 8, count: 40 },
    profile: BOARDS,
  },
  {
    name: 'time-of-the-snapshot-alone',
    breaks: 'AR8',
    does: 'judges a write by the time of its snapshot alone',
    patches: [{ file: JUDGED_WRITES, in: 'judgeWrites', find: 'packWall(now)', replace: 'place.snapshot.ts' }],
    seeds: { from: 6, count: 40 },
    profile: BOARDS,
  },
  {
    name: 'documents-as-before-the-transaction',
    breaks: 'AR9',
    does: 'shows rules the documents without what the transaction writes',
    patches: [
      {
        file: RULE_READS,
        in: 'JudgedReads.getAfter',
        find: 'this.after.get(key) === undefined ? this.documents : this.after',
        replace: 'this.documents',
      },
    ],
    seeds: { from: 1, count: 40 },
    profile: BOARDS,
  },
  {
    name: 'removal-of-what-was-never-visible',
    breaks: 'LQ7',
    does: 'takes away documents that the live reader was never allowed to see',
    patches: [
      {
        file: JUDGED_SCOPES,
        in: 'VisibleChanges.#visible',
        find: "seen === 'hidden' && !shown.has(key)",
        replace: 'false',
      },
    ],
    seeds: { from: 1, count: 40 },
    profile: NOTES,
  },
  {
    name: 'empty-instead-of-refused',
    breaks: 'LQ7',
    does: 'watches a range that a rule filters by other documents, and finds nothing in it',
    patches: [
      {
        file: JUDGED_SCOPES,
        in: 'VisibleChanges.constructor',
        find: 'if (rule !== undefined)',
        replace: 'if (rule === "")',
      },
    ],
    seeds: { from: 1, count: 40 },
    profile: NOTES,
  },
  {
    name: 'feed-of-what-is-filtered',
    breaks: 'AR5',
    does: 'gives a page of the change feed over a range that no rule allows as a whole',
    patches: [
      {
        file: JUDGED_COORDINATOR,
        in: 'JudgedCoordinator.#judgePage',
        find: "if (verdict.kind !== 'allowed')",
        replace: "if (verdict.kind === 'filtered') done(page); else if (verdict.kind !== 'allowed')",
      },
    ],
    seeds: { from: 1, count: 40 },
    profile: NOTES,
  },
  {
    name: 'page-ends-at-a-hidden-key',
    breaks: 'AR10',
    does: 'names the key at which a page of a list ends, also where that is hidden',
    patches: [
      {
        file: JUDGED_COORDINATOR,
        in: 'JudgedCoordinator.#list',
        find: '(next) => places.seal(next, holder)',
        replace: '({ next }) => next',
      },
    ],
    seeds: { from: 1, count: 40 },
    profile: NOTES,
  },
];
