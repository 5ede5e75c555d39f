/** The rules specific to protocols whose dependencies name keys: COPS-GT's lists and rounds, CC-LO's readers. */
import type { Mutant } from '../mutant.js';

const COPSGT = 'packages/protocols/src/copsgt/copsgt.ts';
const COPSGT_SESSION = 'packages/protocols/src/copsgt/session.ts';
const CCLO = 'packages/protocols/src/cclo/cclo.ts';
const READERS = 'packages/protocols/src/cclo/readers.ts';
const READERS_CHECKS = 'packages/protocols/src/cclo/readers-checks.ts';
const NAMED_RULES = 'packages/protocols/src/kernel/operations/named-rules.ts';
const REPLICA = 'packages/protocols/src/kernel/operations/replica.ts';

const COPSGT_MUTANTS: readonly Mutant[] = [
  {
    name: 'cops-gt-one-round',
    protocol: 'cops-gt',
    breaks: 'CG4, get_trans',
    does: 'answers a read-only transaction with the results of its first round',
    patches: [
      {
        file: COPSGT,
        in: 'CopsGt.demands',
        find: 'return wanted === undefined ? [] : [{ position, wanted }];',
        replace: 'return wanted === undefined || position >= 0 ? [] : [{ position, wanted }];',
      },
    ],
    seeds: { from: 51, count: 60 },
  },
  {
    name: 'cops-gt-second-round-reads-newest',
    protocol: 'cops-gt',
    breaks: 'CG4, get_by_version',
    does: 'answers a second round with the newest version, which may have newer dependencies itself',
    patches: [
      {
        file: REPLICA,
        in: 'OperationReplica.#onRotVersions',
        find: 'return this.versions.find(key, belongs);',
        replace: 'void belongs;\n      return this.versions.find(key, () => true);',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: 'cops-gt-wants-the-oldest',
    protocol: 'cops-gt',
    breaks: 'CG4, ccv',
    does: 'requests the oldest of the versions of a key that are dependencies',
    patches: [
      {
        file: COPSGT,
        in: 'CopsGt.#correct',
        find: 'const newest = Math.max(0, ...depends.map(({ ts }) => ts));',
        replace: 'const newest = depends.length === 0 ? 0 : Math.min(...depends.map(({ ts }) => ts));',
      },
    ],
    seeds: { from: 51, count: 60 },
  },
  {
    name: 'cops-gt-put-replaces-the-context',
    protocol: 'cops-gt',
    breaks: 'CG1, put_after',
    does: 'depends only on the last PUT after a PUT',
    patches: [
      {
        file: COPSGT_SESSION,
        in: 'copsGtSession',
        find: 'above(mergeDependencies(depends.map(far), more), seenPartsOf(seen).horizon),',
        replace: 'above(mergeDependencies(depends.map(far).slice(0, 0), more), seenPartsOf(seen).horizon),',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: 'cops-gt-no-dep-check',
    protocol: 'cops-gt',
    breaks: 'CG2, dep_check',
    does: 'shows an update of another region as soon as it arrives',
    patches: [
      {
        file: COPSGT,
        in: 'CopsGt.#needs',
        find: 'depends.filter(({ near }) => near),',
        replace: 'depends.filter(({ near }) => near && false),',
      },
    ],
    seeds: { from: 19, count: 60 },
  },
  {
    name: 'cops-gt-get-forgets-what-it-read',
    protocol: 'cops-gt',
    breaks: 'CG1, get',
    does: 'does not add reads to the dependencies of a session',
    patches: [
      {
        file: NAMED_RULES,
        in: 'NamedDependencyRules.#saw',
        find: 'return [this.#dependency(key, version.ts, version.region), ...this.protocol.behind(version, horizon)];',
        replace: 'return [...this.protocol.behind(version, horizon)];',
      },
    ],
    seeds: { from: 37, count: 60 },
  },
  {
    name: 'cops-gt-moves-at-once',
    protocol: 'cops-gt',
    breaks: 'D9',
    does: 'serves a session from another region before it has received what the session has seen',
    patches: [
      {
        file: NAMED_RULES,
        in: 'NamedDependencyRules.arrive',
        find: 'return seenPartsOf(seen).highest <= this.state.stable.aggregated ? seen : undefined;',
        replace: 'return seenPartsOf(seen).highest <= this.state.stable.aggregated || true ? seen : undefined;',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
];

const CCLO_MUTANTS: readonly Mutant[] = [
  {
    name: 'cc-lo-no-readers-check',
    protocol: 'cc-lo',
    breaks: 'readers check of a PUT',
    does: 'shows a new version without a readers check',
    patches: [
      {
        file: CCLO,
        in: 'Readers.put',
        find: "return this.checks.begin(txId, depends, now, out) ? undefined : 'later';",
        replace: 'void [txId, depends, out];\n    return undefined;',
      },
    ],
    seeds: { from: 51, count: 60 },
  },
  {
    name: 'cc-lo-no-readers-check-of-updates',
    protocol: 'cc-lo',
    breaks: 'readers check of a remote update',
    does: 'shows an update of another region without a readers check and a dependency check',
    patches: [
      {
        file: READERS_CHECKS,
        in: 'ReadersChecks.beginUpdate',
        find: 'if (this.begin(txId, depends, now, out)) ready();\n    else this.#checks.get(txId)!.ready.push(ready);',
        replace: 'void [txId, now, out];\n    ready();',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: 'cc-lo-check-does-not-wait',
    protocol: 'cc-lo',
    breaks: 'readers check, dependency check',
    does: 'answers a readers check before it has received the dependencies',
    patches: [
      {
        file: READERS_CHECKS,
        in: 'ReadersChecks.onRequest',
        find: 'needs, (_at, later) => answer(later), now, out);',
        replace: '[], (_at, later) => answer(later), now, out);\n    void needs;',
      },
    ],
    seeds: { from: 28, count: 60 },
  },
  {
    name: 'cc-lo-answer-not-merged',
    protocol: 'cc-lo',
    breaks: 'readers check',
    does: "does not keep the old readers in a partition's answer",
    patches: [
      {
        file: READERS_CHECKS,
        in: 'ReadersChecks.#answered',
        find: 'check.readers.push(...readers);',
        replace: 'void check.readers;',
      },
    ],
    seeds: { from: 50, count: 60 },
  },
  {
    name: 'cc-lo-shows-old-readers-the-newest',
    protocol: 'cc-lo',
    breaks: 'CL1, old readers',
    does: 'shows an old reader the newest version',
    patches: [
      {
        file: READERS,
        in: 'ReadersRecords.read',
        find: 'if (old !== undefined) return this.#find(key, old.shown);',
        replace: 'void old;\n    void this.#find;',
      },
    ],
    seeds: { from: 51, count: 60 },
  },
  {
    name: 'cc-lo-forgets-who-has-read',
    protocol: 'cc-lo',
    breaks: 'CL1, readers',
    does: 'does not record the readers of a version',
    patches: [
      {
        file: READERS,
        in: 'ReadersRecords.read',
        find: 'of(this.#readers, key).set(name, reader);',
        replace: 'void reader;',
      },
    ],
    seeds: { from: 51, count: 60 },
  },
  {
    name: 'cc-lo-readers-do-not-become-old',
    protocol: 'cc-lo',
    breaks: 'CL1, readers',
    does: 'drops the readers of a version when there is a newer one',
    patches: [
      {
        file: READERS,
        in: 'ReadersRecords.written',
        find: 'for (const reader of this.#readers.get(key)?.values() ?? []) this.#outdate(key, reader, newest);\n    this.#readers.delete(key);',
        replace: 'this.#readers.delete(key);',
      },
    ],
    seeds: { from: 51, count: 60 },
  },
  {
    name: 'cc-lo-client-forgets-its-put',
    protocol: 'cc-lo',
    breaks: 'client, PUT',
    does: 'does not add writes to the dependencies of a session',
    patches: [
      {
        file: NAMED_RULES,
        in: 'NamedDependencyRules.constructor',
        find: 'wrote: (key, ts, region) => [this.#dependency(key, ts, region)],',
        replace: 'wrote: (key, ts, region) => [this.#dependency(key, ts, region)].slice(0, 0),',
      },
    ],
    seeds: { from: 28, count: 60 },
  },
];

export const NAMED_MUTANTS: readonly Mutant[] = [...COPSGT_MUTANTS, ...CCLO_MUTANTS];
