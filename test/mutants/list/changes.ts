/** The change feed (CF1 to CF6). */
import type { Mutant, Profile } from '../mutant.js';
import { CHANGE_DOCUMENTS, FEED_SCOPE, FOLLOWING, JOIN, LOG_SERVER, SCOPE_INDEX } from './files.js';

/** Every run has readers. */
const READ: Profile = { reads: 'changes' };

/** Logs are short, so that readers fall below them. */
const FORGOTTEN: Profile = { ...READ, settings: { changeRetentionMs: 300 } };

export const CHANGES_MUTANTS: readonly Mutant[] = [
  {
    name: 'feed-ends-above-a-page',
    breaks: 'CF1',
    does: 'ends an answer where the longest page of its partitions does',
    patches: [
      {
        file: JOIN,
        in: 'join',
        find: 'Math.min(...pages.map(({ upTo }) => upTo))',
        replace: 'Math.max(...pages.map(({ upTo }) => upTo))',
      },
    ],
    seeds: { from: 1, count: 20 },
    profile: READ,
  },
  {
    name: 'feed-splits-a-transaction',
    breaks: 'CF1',
    does: 'gives the writes of each partition as a transaction of their own',
    patches: [
      {
        file: JOIN,
        in: 'join',
        find: 'const known = found.get(tx.txId);',
        replace: 'const known = undefined; if (found.has(tx.txId)) found.set(String(found.size), found.get(tx.txId));',
      },
    ],
    seeds: { from: 1, count: 20 },
    profile: READ,
  },
  {
    name: 'feed-leaves-partitions-out',
    breaks: 'CF1',
    does: "gives a transaction with the first partition's writes alone",
    patches: [{ file: JOIN, in: 'join', find: 'else known.writes.push(...writes);', replace: '' }],
    seeds: { from: 1, count: 20 },
    profile: READ,
  },
  {
    name: 'feed-passes-stable-time',
    breaks: 'CF1',
    does: 'reads logs to a little above stable time',
    patches: [
      {
        file: LOG_SERVER,
        in: 'LogServer.#read',
        find: 'upTo: this.state.stable.value',
        replace: 'upTo: this.state.stable.value + 50 * 1024',
      },
    ],
    seeds: { from: 1, count: 20 },
    profile: READ,
  },
  {
    name: 'truncated-log-is-complete',
    breaks: 'CF2',
    does: 'gives what is left of a truncated log as all of it',
    patches: [
      {
        file: LOG_SERVER,
        in: 'LogServer.onRead',
        find: 'const truncatedUpTo = Math.max(page.truncatedUpTo, this.changesFrom(partition) ?? upTo, unknown);',
        replace: 'const truncatedUpTo = Math.min(after, page.truncatedUpTo);',
      },
    ],
    seeds: { from: 1, count: 50 },
    profile: FORGOTTEN,
  },
  {
    name: 'copied-log-is-complete',
    breaks: 'CF2',
    does: 'gives the log of a replica that has lost its disk as if it went back to the beginning',
    patches: [
      {
        file: LOG_SERVER,
        in: 'LogServer.onRead',
        find: 'Math.max(page.truncatedUpTo, this.changesFrom(partition) ?? upTo, unknown);',
        replace: 'Math.max(page.truncatedUpTo, unknown);',
      },
    ],
    seeds: { from: 1, count: 200 },
    profile: { ...READ, environment: { founded: true }, faults: { kinds: ['wipe'], count: 4, untilMs: 4_000 } },
  },
  {
    name: 'index-misses-ranges',
    breaks: 'LQ6',
    does: 'finds no reader of a range that has an end',
    patches: [
      {
        file: SCOPE_INDEX,
        in: 'ScopeIndex.find',
        find: 'if (inRange(range, key)) range.holders.visit(visit);',
        replace: 'if (range.end === null) range.holders.visit(visit);',
      },
    ],
    seeds: { from: 1, count: 50 },
    profile: READ,
  },
  {
    name: 'reader-settles-too-early',
    breaks: 'LQ6',
    does: 'lets a reader wait though another of its partitions has something for it',
    patches: [
      {
        file: FOLLOWING,
        in: 'Following.#mayHaveMore',
        find: 'const end = this.#tails.end(partition)!;',
        replace: 'const end = 0;',
      },
    ],
    seeds: { from: 1, count: 50 },
    profile: READ,
  },
  {
    name: 'reader-goes-on-too-far',
    breaks: 'CF1',
    does: 'lets a reader that the index found go on at stable time, and not at the end of its lowest tail',
    patches: [
      {
        file: FOLLOWING,
        in: 'Following.#unsettle',
        find: 'reader.advanceTo(this.#tails.lowest(reader.partitions.keys())!);',
        replace: 'reader.advanceTo(this.state.stable.value - 1);',
      },
    ],
    seeds: { from: 1, count: 50 },
    profile: READ,
  },
  {
    name: 'scope-leaves-partitions-out',
    breaks: 'CF3',
    does: 'reads the first partition of a range alone',
    patches: [
      {
        file: FEED_SCOPE,
        in: 'partitionsOf',
        find: 'for (const { id } of all) found.add(id);',
        replace: 'found.add(all[0]!.id);',
      },
    ],
    seeds: { from: 1, count: 50 },
    profile: READ,
  },
  {
    name: 'feed-gives-later-documents',
    breaks: 'CF3',
    does: 'gives every update of a timestamp the document of the snapshot there, whatever was written behind it',
    patches: [
      {
        file: CHANGE_DOCUMENTS,
        in: 'ChangeDocuments.#separate',
        find: 'if (reads.length === 0) done(batch);',
        replace: 'if (reads.length >= 0) done(batch);',
      },
    ],
    seeds: { from: 1795861490, count: 100 },
    profile: { reads: 'documents' },
  },
];
