/** Live queries (LQ1 to LQ6), and what nodes send for them. */
import type { Mutant, Profile } from '../mutant.js';
import {
  COLLECTED,
  FEED_SCOPE,
  FEEDS,
  FOLLOWING,
  LIVE_DOCUMENTS,
  LIVE_OWN_WRITES,
  LIVE_POSITION,
  LIVE_READING,
  TRANSACTION_SESSION,
} from './files.js';

/** Every run has readers of the feed. */
const READ: Profile = { reads: 'changes' };
/** Every run has live queries. */
const LIVE: Profile = { reads: 'live', environment: { credits: 16 } };
/** Logs are short, so that clients fall below them. */
const FORGOTTEN: Profile = { ...LIVE, settings: { changeRetentionMs: 300 } };

export const LIVE_MUTANTS: readonly Mutant[] = [
  {
    name: 'feed-stands-still',
    breaks: 'CF1',
    does: 'ends an answer of the feed where it began, though it has the transactions behind',
    patches: [{ file: FEEDS, in: 'Feeds.#answer', find: 'const to = reader.position;', replace: 'const to = after;' }],
    seeds: { from: 1, count: 20 },
    profile: READ,
  },
  {
    name: 'feed-goes-on-too-far',
    breaks: 'CF1',
    does: 'ends an answer above the position of its reader',
    patches: [
      {
        file: FEEDS,
        in: 'Feeds.#answer',
        find: 'const to = reader.position;',
        replace: 'const to = reader.position + 4096;',
      },
    ],
    seeds: { from: 1, count: 20 },
    profile: READ,
  },
  {
    name: 'answer-cuts-a-group',
    breaks: 'CF1',
    does: 'ends an answer between two transactions of one timestamp',
    patches: [{ file: COLLECTED, in: 'collect', find: 'tx.ct !== last &&', replace: '' }],
    seeds: { from: 1, count: 100 },
    profile: READ,
  },
  {
    name: 'answer-without-a-limit',
    breaks: 'CF6',
    does: 'goes on behind the limit of an answer',
    patches: [{ file: COLLECTED, in: 'collect', find: 'into.bytes >= limitBytes', replace: 'into.bytes >= 1e9' }],
    seeds: { from: 1, count: 20 },
    profile: READ,
  },
  {
    name: 'net-without-earlier-updates',
    breaks: 'LQ4',
    does: 'sends the last update of a key alone',
    patches: [
      {
        file: COLLECTED,
        in: 'NetContents.add',
        find: 'if (known !== undefined && content instanceof Update) known.push(written);',
        replace: 'if (false) known.push(written);',
      },
    ],
    seeds: { from: 2, count: 100 },
    profile: LIVE,
  },
  {
    name: 'change-not-found',
    breaks: 'LQ6',
    does: 'asks the index about the first key of a transaction alone',
    patches: [
      {
        file: FOLLOWING,
        in: 'Following.onPage',
        find: 'for (const { key } of tx.writes) this.#index',
        replace: 'for (const { key } of tx.writes.slice(0, 1)) this.#index',
      },
    ],
    seeds: { from: 12, count: 100 },
    profile: LIVE,
  },
  {
    name: 'keys-ask-the-wrong-partition',
    breaks: 'LQ4',
    does: 'reads the partition of another key for a named one',
    patches: [
      {
        file: FEED_SCOPE,
        in: 'partitionsOf',
        find: 'topology.partitionOf(key)',
        replace: 'topology.partitionOf(key + key)',
      },
    ],
    seeds: { from: 2, count: 100 },
    profile: LIVE,
  },
  {
    name: 'gap-stops-the-tail',
    breaks: 'LQ6',
    does: 'does not request the next page of a partition again after another request was refused in its place',
    patches: [
      {
        file: FOLLOWING,
        in: 'Following.onGone',
        find: 'this.#follow(partition, now, out);',
        replace: 'if (this.#tails.end(partition) === after) this.#follow(partition, now, out);',
      },
    ],
    seeds: { from: 23, count: 200 },
    profile: FORGOTTEN,
  },
  {
    name: 'own-writes-shown-late',
    breaks: 'LQ2',
    does: 'shows an own write once it has committed',
    patches: [
      {
        file: LIVE_DOCUMENTS,
        in: 'Documents.#document',
        find: 'const own = this.own.of(key);',
        replace: "const own = this.own.of(key).filter(({ txId }) => txId !== '');",
      },
    ],
    seeds: { from: 1, count: 20 },
    profile: LIVE,
  },
  {
    name: 'own-writes-flicker',
    breaks: 'LQ2',
    does: 'takes an own write away when it has committed',
    patches: [
      {
        file: LIVE_OWN_WRITES,
        in: 'OwnWrites.committed',
        find: 'if (ct <= this.#position) this.#remove(own);',
        replace: 'if (ct > 0) this.#remove(own);',
      },
    ],
    seeds: { from: 1, count: 20 },
    profile: LIVE,
  },
  {
    name: 'refused-writes-stay',
    breaks: 'LQ2',
    does: 'shows a write that was refused',
    patches: [
      {
        file: LIVE_OWN_WRITES,
        in: 'OwnWrites.dropped',
        find: 'for (const own of writes) this.#remove(own);',
        replace: '',
      },
    ],
    seeds: { from: 4, count: 100 },
    profile: LIVE,
  },
  {
    name: 'changes-in-doubt',
    breaks: 'LQ2',
    does: 'applies changes while it does not know whether they contain an own write',
    patches: [{ file: LIVE_POSITION, in: 'Position.answered', find: 'doubts.length > 0', replace: 'false' }],
    seeds: { from: 1, count: 100 },
    profile: LIVE,
  },
  {
    name: 'scopes-join-at-once',
    breaks: 'LQ1',
    does: 'shows a new scope before the others have reached its snapshot',
    patches: [
      {
        file: LIVE_POSITION,
        in: 'Position.#meets',
        find: 'position === this.at',
        replace: 'position !== undefined',
      },
    ],
    seeds: { from: 2, count: 100 },
    profile: LIVE,
  },
  {
    name: 'changes-of-the-read-again',
    breaks: 'LQ1',
    does: 'applies changes again that the first read of a scope contains',
    patches: [
      {
        file: LIVE_READING,
        in: 'Reading.documents',
        find: 'changes.filter(({ ct }) => ct > this.snapshot!)',
        replace: 'changes',
      },
    ],
    seeds: { from: 2, count: 100 },
    profile: LIVE,
  },
  {
    name: 'shown-is-not-seen',
    breaks: 'LQ5',
    does: 'keeps what was shown out of the session, at the client and in its token',
    patches: [
      {
        file: TRANSACTION_SESSION,
        in: 'TransactionSession.sawChanges',
        find: 'return to > from || to <= this.node.ust() ? this.saw({ ts: to }) : undefined;',
        replace: 'return undefined;',
      },
      { file: LIVE_POSITION, in: 'Position.#moveTo', find: 'this.core.session.observe({ ts: at });', replace: '' },
    ],
    seeds: { from: 88, count: 100 },
    profile: LIVE,
  },
  {
    name: 'goes-on-below-the-log',
    breaks: 'LQ3',
    does: 'keeps its documents when the log does not go back to them',
    patches: [
      {
        file: LIVE_POSITION,
        in: 'Position.gone',
        find: 'this.#held = [];',
        replace: 'if (this.at !== undefined) {\n      this.at = this.core.session.ust;\n      return;\n    }',
      },
    ],
    seeds: { from: 2, count: 100 },
    profile: FORGOTTEN,
  },
];
