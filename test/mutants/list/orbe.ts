/** The rules that are specific to Orbe: dependency matrices and checks, snapshots by physical clocks, cleaning. */
import type { Mutant } from '../mutant.js';

const MATRIX = 'packages/protocols/src/kernel/operations/matrix-rules.ts';
const ADMISSION = 'packages/protocols/src/kernel/operations/admission.ts';
const CHECKS = 'packages/protocols/src/kernel/operations/dependency-checks.ts';
const CLOCK = 'packages/protocols/src/orbeclock/orbeclock.ts';
const CLEANING = 'packages/protocols/src/orbecleaning/orbecleaning.ts';
const REPLICATED = 'packages/protocols/src/orbecleaning/full-replication.ts';

const DM_MUTANTS: readonly Mutant[] = [
  {
    name: 'orbe-gate-open',
    protocol: 'orbe',
    breaks: 'Section 3.2, update replication',
    does: 'applies an update of another region at once',
    patches: [
      {
        file: MATRIX,
        in: 'MatrixRules.#needs',
        find: '? needsOf(matrix, this.state.topology) : [];',
        replace: '? [] : [];',
      },
    ],
    seeds: { from: 26, count: 30 },
  },
  {
    name: 'orbe-asks-no-other-partition',
    protocol: 'orbe',
    breaks: 'R2, step 2',
    does: "does not check an update's dependencies at other partitions",
    patches: [
      {
        file: ADMISSION,
        in: 'Admission.#begin',
        find: 'if (partition !== view.partition) this.#check(',
        replace: 'if (partition < 0) this.#check(',
      },
    ],
    seeds: { from: 26, count: 30 },
  },
  {
    name: 'orbe-check-answered-at-once',
    protocol: 'orbe',
    breaks: 'R2, step 2',
    does: 'answers a dependency check before it has received the version',
    patches: [
      {
        file: CHECKS,
        in: 'DependencyChecks.wait',
        find: 'if (this.#covers(needs, now)) satisfied',
        replace: 'if (this.#covers(needs, now) || id !== "") satisfied',
      },
    ],
    seeds: { from: 26, count: 30 },
  },
  {
    name: 'orbe-get-forgets-what-it-read',
    protocol: 'orbe',
    breaks: 'R4',
    does: 'does not add a version that was read to the matrix',
    patches: [
      {
        file: MATRIX,
        in: 'MatrixRules.saw',
        find: 'this.#position(version.region), version.ts));',
        replace: 'this.#position(version.region), 0 * version.ts));',
      },
    ],
    seeds: { from: 16, count: 30 },
  },
  {
    name: 'orbe-client-forgets-its-put',
    protocol: 'orbe',
    breaks: 'R5',
    does: 'does not return the timestamp of a PUT',
    patches: [
      {
        file: MATRIX,
        in: 'MatrixRules.wrote',
        find: 'return only(partition, this.#position(region), ts);',
        replace: 'return only(partition, this.#position(region), 0 * ts);',
      },
    ],
    seeds: { from: 1, count: 30 },
  },
  {
    name: 'orbe-session-arrives-at-once',
    protocol: 'orbe',
    breaks: 'D9',
    does: 'lets a session that has moved read before its new region has its dependencies',
    patches: [
      {
        file: MATRIX,
        in: 'MatrixRules.arrive',
        find: '<= this.state.stable.aggregated ? seen : undefined;',
        replace: '<= this.state.stable.aggregated + Infinity ? seen : undefined;',
      },
    ],
    seeds: { from: 1, count: 30 },
  },
];

const DM_CLOCK_MUTANTS: readonly Mutant[] = [
  {
    name: 'orbe-clock-ignores-pvv',
    protocol: 'orbe-clock',
    breaks: 'OC6, section 4.3',
    does: 'does not wait until the clocks of other regions have passed a snapshot',
    patches: [
      {
        file: CLOCK,
        in: 'OrbeClockRules.obstacle',
        find: 'vv.durable(other) < st)',
        replace: 'vv.durable(other) < 0 * st)',
      },
    ],
    seeds: { from: 6, count: 30 },
  },
  {
    name: 'orbe-clock-waits-for-one-region',
    protocol: 'orbe-clock',
    breaks: 'OC6, section 4.3',
    does: 'waits for the clocks of other regions until one of them has passed a snapshot',
    patches: [
      {
        file: CLOCK,
        in: 'OrbeClockRules.obstacle',
        find: 'topology.regions.some((other) => other !== region && vv',
        replace: 'topology.regions.every((other) => other === region || vv',
      },
    ],
    seeds: { from: 2, count: 30 },
  },
  {
    name: 'orbe-clock-put-does-not-wait',
    protocol: 'orbe-clock',
    breaks: 'OC1',
    does: "stamps a PUT by the clock alone, without the client's timestamps",
    patches: [
      {
        file: MATRIX,
        in: 'MatrixRules.floor',
        find: 'return newestOf(seen);',
        replace: 'return 0 * newestOf(seen);',
      },
    ],
    seeds: { from: 2, count: 30 },
  },
  {
    name: 'orbe-clock-snapshot-below-client',
    protocol: 'orbe-clock',
    breaks: 'OC9',
    does: "chooses a snapshot by the clock alone, without the client's timestamps",
    patches: [
      {
        file: CLOCK,
        in: 'OrbeClockRules.choose',
        find: '[Math.max(this.state.clock.physical(now) - delta, this.#atLeast(seen))];',
        replace: '[Math.max(this.state.clock.physical(now) - delta, 0 * this.#atLeast(seen))];',
      },
    ],
    seeds: { from: 2, count: 30 },
  },
  {
    name: 'orbe-clock-reads-the-newest',
    protocol: 'orbe-clock',
    breaks: 'OC7',
    does: 'shows versions that are newer than the snapshot',
    patches: [
      {
        file: CLOCK,
        in: 'OrbeClockRules.read',
        find: 'return versions.at(key, st);',
        replace: 'return versions.at(key, st + 2 ** 40);',
      },
    ],
    seeds: { from: 2, count: 30 },
  },
  {
    name: 'orbe-clock-again-below-client',
    protocol: 'orbe-clock',
    breaks: 'OC12',
    does: "executes a transaction again below its client's dependencies",
    patches: [
      {
        file: CLOCK,
        in: 'OrbeClockRules.patience',
        find: 'const smaller = this.#atLeast(seen);',
        replace: 'void seen;\n      const smaller = this.state.stable.value;',
      },
    ],
    seeds: { from: 3, count: 30 },
  },
];

const CLEANING_MUTANTS: readonly Mutant[] = [
  {
    name: 'orbe-cleaning-one-ack-is-enough',
    protocol: 'orbe-cleaning',
    breaks: 'L3',
    does: 'treats an update as complete when one other region has acknowledged it',
    patches: [
      {
        file: REPLICATED,
        in: 'FullReplication.#onAck',
        find: 'const all = Math.min(',
        replace: 'const all = Math.max(',
      },
    ],
    seeds: { from: 1, count: 30 },
  },
  {
    name: 'orbe-cleaning-ack-of-everything',
    protocol: 'orbe-cleaning',
    breaks: 'L3',
    does: 'treats one acknowledgement as that of all updates',
    patches: [
      {
        file: REPLICATED,
        in: 'FullReplication.#onAck',
        find: 'Math.min(upTo, vv.durable(state.region))',
        replace: 'Math.max(upTo, vv.durable(state.region))',
      },
    ],
    seeds: { from: 1, count: 30 },
  },
  {
    name: 'orbe-cleaning-completes-everything',
    protocol: 'orbe-cleaning',
    breaks: 'L2',
    does: 'reports to the other regions that all of its updates are complete',
    patches: [
      {
        file: REPLICATED,
        in: 'FullReplication.round',
        find: "'ReplicationComplete', partition, region, upTo: complete }",
        replace: "'ReplicationComplete', partition, region, upTo: replication.vv.durable(region) }",
      },
    ],
    seeds: { from: 1, count: 30 },
  },
  {
    name: 'orbe-cleaning-raises-out-of-order',
    protocol: 'orbe-cleaning',
    breaks: 'L4',
    does: 'raises the vector of complete updates to that of received updates',
    patches: [
      { file: REPLICATED, in: 'FullReplication.#raise', find: 'Math.min(upTo, own)', replace: 'Math.max(upTo, own)' },
    ],
    seeds: { from: 1, count: 30 },
  },
  {
    name: 'orbe-cleaning-own-versions-are-clean',
    protocol: 'orbe-cleaning',
    breaks: 'L1',
    does: 'assumes that every region has all versions of the local region',
    patches: [
      {
        file: REPLICATED,
        in: 'FullReplication.covers',
        find: 'this.#peers.size === 0 ||',
        replace: 'this.#peers.size === 0 || region === this.replica.replication.state.region ||',
      },
    ],
    seeds: { from: 1, count: 30 },
  },
  {
    name: 'orbe-cleaning-cleans-always',
    protocol: 'orbe-cleaning',
    breaks: 'L1',
    does: 'lets a client drop dependencies that are not in every region',
    patches: [
      {
        file: CLEANING,
        in: 'CleaningRules.get',
        find: '|| !replicated.covers(version)) return',
        replace: '|| (!replicated.covers(version) && version.ts < 0)) return',
      },
    ],
    seeds: { from: 1, count: 30 },
  },
  {
    name: 'orbe-cleaning-any-entry-covers',
    protocol: 'orbe-cleaning',
    breaks: 'L1',
    does: 'compares a version with the entry of another region',
    patches: [
      {
        file: REPLICATED,
        in: 'FullReplication.covers',
        find: 'this.entry(region) >= ts;',
        replace: 'Math.max(...this.#rvv.values()) >= (region === "" ? 0 : ts);',
      },
    ],
    seeds: { from: 145, count: 60 },
  },
];

export const ORBE_MUTANTS: readonly Mutant[] = [...DM_MUTANTS, ...DM_CLOCK_MUTANTS, ...CLEANING_MUTANTS];
