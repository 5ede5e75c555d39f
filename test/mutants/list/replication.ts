/** Replication, replay, copies: D1, D5, D6, D10, P3. */
import type { Mutant, Profile } from '../mutant.js';
import { SAME_TIMES } from './clock.js';
import {
  GATHERED,
  READS,
  REBUILD,
  RECEIVER,
  REPLICA_STATE,
  REPLICATION,
  RETENTION,
  SENDER,
  VERIFICATION,
} from './files.js';
import { TINY_RANGES } from './variants.js';

/** Single frames are lost, repeated or late, while the connections stay. */
const UNRULY_LINKS: Profile = { faults: { kinds: ['unrulyLink'], count: 12, untilMs: 3_000 } };

/** Disks that are lost while some peers are unreachable. */
export const LOST_DISKS: Profile = {
  faults: {
    kinds: ['wipe', 'wipe', 'rollback', 'cutLink', 'isolateNode', 'clockJump', 'crash'],
    count: 20,
    untilMs: 5_000,
  },
};

/** Disks that are lost while their committed writes cannot be sent. */
export const TORN_BY_LOST_DISKS: Profile = {
  faults: {
    kinds: ['cutLink', 'isolateNode', 'isolateRegion', 'wipe', 'wipe', 'dropLink', 'slowDisk'],
    count: 14,
    untilMs: 4_000,
  },
};

/** Disks that are rolled back while their region or a peer is unreachable. */
const OLD_DISKS: Profile = {
  faults: {
    kinds: [
      'rollback',
      'rollback',
      'cutLink',
      'isolateRegion',
      'crash',
      'crashAt',
      'massCrash',
      'clientDisconnect',
      'pause',
    ],
    count: 16,
    untilMs: 5_000,
  },
};

/** Disks that are rolled back while the other nodes crash, too. */
const OLD_DISKS_AND_CRASHES: Profile = {
  faults: { kinds: ['rollback', 'rollback', 'massCrash', 'crash', 'crash', 'cutLink'], count: 24, untilMs: 4_000 },
};

/** Disks that are rolled back, and links that come up late after it. */
const LATE_LINKS: Profile = {
  settings: { verifyTimeoutMs: 8_000 },
  faults: { kinds: ['lateLinks'], count: 8, untilMs: 5_000 },
};

export const REPLICATION_MUTANTS: readonly Mutant[] = [
  {
    name: 'replicate-before-durable',
    breaks: 'D1',
    does: 'replicates applied transactions that are not yet on disk',
    patches: [
      {
        file: SENDER,
        in: 'Sender.release',
        find: 'const upTo = this.vv.durable(this.state.region);',
        replace: 'const upTo = this.vv.applied(this.state.region);',
      },
    ],
    seeds: { from: 1, count: 10 },
  },
  {
    name: 'replay-from-elsewhere',
    breaks: 'D6',
    does: "replays the log from its own entry of the peer's region instead of where the peer is",
    patches: [
      {
        file: SENDER,
        in: 'Sender.onReplayLog',
        find: 'const page = this.state.reader.log(this.partition, after, upTo);',
        replace:
          'const page = this.state.reader.log(this.partition, Math.min(upTo, Math.max(after, this.vv.applied(region))), upTo);',
      },
    ],
    seeds: { from: 3, count: 50 },
  },
  {
    name: 'heartbeat-without-from',
    breaks: 'D6',
    does: 'applies a heartbeat although ranges before it are missing',
    patches: [
      {
        file: RECEIVER,
        in: 'Receiver.onHeartbeat',
        find: 'if (this.#follows(message, now, out)) this.#advance(message.source, message.to, false, out);',
        replace: 'if (this.parts.peers.has(message.source)) this.#advance(message.source, message.to, false, out);',
      },
    ],
    seeds: { from: 1, count: 50 },
    profile: UNRULY_LINKS,
  },
  {
    name: 'heartbeats-of-one-clock',
    breaks: 'P3, P12',
    does: 'sends all partitions of a round the version clock of the first one with the same start',
    patches: [
      {
        file: 'packages/protocols/src/kernel/heartbeats.ts',
        in: 'HeartbeatCollector.add',
        find: 'span.from === from && span.to === upTo && span.verified === verified',
        replace: 'span.from === from && span.verified === verified',
      },
    ],
    seeds: { from: 3, count: 40 },
  },
  {
    name: 'gap-not-noticed',
    breaks: 'D6',
    does: 'accepts a range that does not begin where the last one ended',
    patches: [
      {
        file: RECEIVER,
        in: 'Receiver.#follows',
        find: 'if (from <= this.#received(source)) {',
        replace: 'if (from >= 0) {',
      },
    ],
    seeds: { from: 1, count: 50 },
    profile: UNRULY_LINKS,
  },
  {
    name: 'fragment-counts',
    breaks: 'P3',
    does: 'raises the version vector with each fragment of a group, so that its other fragments count as stale',
    patches: [
      ...TINY_RANGES,
      {
        file: RECEIVER,
        in: 'Receiver.onReplicate',
        find: 'this.#advance(source, to, wrote, out);',
        replace: 'this.#advance(source, Math.max(to, groups.at(-1)?.ct ?? 0), wrote, out);',
      },
    ],
    seeds: { from: 1, count: 20 },
    profile: SAME_TIMES,
  },
  {
    name: 'log-truncated-early',
    breaks: 'D5',
    does: 'truncates the log up to its own version clock instead of UST, and replays the rest as if it were complete',
    patches: [
      {
        file: RETENTION,
        in: 'Retention.collect',
        find: 'this.#logged.truncate(this.#present, confirmed)',
        replace: 'this.#logged.truncate([], this.#logged.last)',
      },
      {
        file: REPLICATION,
        in: 'Replication.#onResyncReq',
        find: 'if (from < truncatedUpTo)',
        replace: 'if (from < 0)',
      },
    ],
    seeds: { from: 3, count: 50 },
  },
  {
    name: 'refill-after-one-answer',
    breaks: 'D10',
    does: 'returns after the report of one peer of a partition instead of all of them',
    patches: [
      {
        file: REBUILD,
        in: 'Rebuild.#planOf',
        find: 'if (!others.every(({ node }) => this.#answers.has(node))) return undefined;',
        replace: 'if (others.length > 0 && !others.some(({ node }) => this.#answers.has(node))) return undefined;',
      },
      {
        file: REBUILD,
        in: 'Rebuild.#planOf',
        find: 'const holders = others.filter(({ node }) => this.#answers.get(node)!.joined);',
        replace: 'const holders = others.filter(({ node }) => this.#answers.get(node)?.joined);',
      },
    ],
    seeds: { from: 75, count: 300 },
    profile: LOST_DISKS,
  },
  {
    name: 'refill-from-one-replica',
    breaks: 'D10',
    does: 'copies a partition from the first replica that it finds, and does not ask the others for its own writes',
    patches: [
      {
        file: REBUILD,
        in: 'Rebuild.#planOf',
        find: 'const source = holders.reduce((best, next) => (isBetter(next, best) ? next : best));',
        replace: 'const source = holders[0]!;',
      },
      {
        file: REBUILD,
        in: 'Rebuild.#planOf',
        find: 'const collects = holders.filter((holder) => holder !== source);',
        replace: 'const collects: Address[] = [];',
      },
    ],
    seeds: { from: 42, count: 40 },
    profile: LOST_DISKS,
  },
  {
    name: 'refill-without-own',
    breaks: 'D10',
    does: 'does not log its own writes that some peer may lack',
    patches: [
      {
        file: GATHERED,
        in: 'Gathered.take',
        find: 'if (version.region === region) this.#takeOwn(key, version, attempt);',
        replace: 'if (version.region === region) void this.#takeOwn;',
      },
    ],
    seeds: { from: 11, count: 300 },
    profile: LOST_DISKS,
  },
  {
    name: 'rollback-forgotten-by-peer',
    breaks: 'D10',
    does: 'loses in a crash the positions that it received from peers, so that no node can detect their rolled-back disks',
    patches: [
      {
        file: REPLICA_STATE,
        in: 'peersOf',
        find: 'group: recovered.highestGroups[region] ?? 0,',
        replace: 'group: 0,',
      },
    ],
    seeds: { from: 60, count: 20 },
    profile: OLD_DISKS_AND_CRASHES,
  },
  {
    name: 'losses-not-settled',
    breaks: 'D10',
    does: 'takes part again without settlement of the writes that its disk lost',
    patches: [
      {
        file: REBUILD,
        in: 'Rebuild.#finish',
        find: 'this.options.settles && this.#hadData ? Math.max(1, forgottenUpTo) : 0;',
        replace: '0;',
      },
    ],
    seeds: { from: 90, count: 20 },
    profile: TORN_BY_LOST_DISKS,
  },
  {
    name: 'unverified-counts',
    breaks: 'D10',
    does: 'counts the version clock of an unverified disk for UST',
    patches: [
      {
        file: RECEIVER,
        in: 'Receiver.#follows',
        find: 'if (peer.rangeCame(verified, this.#received(source))) this.#keepCaps(out);',
        replace: 'peer.rangeCame(true, 0);',
      },
    ],
    seeds: { from: 71, count: 1 },
    profile: OLD_DISKS,
  },
  {
    name: 'stream-not-restarted',
    breaks: 'D10',
    does: "goes on from the version clock of a peer's lost disk, although a range of an old disk may have had a gap",
    patches: [
      {
        file: RECEIVER,
        in: 'Receiver.meet',
        find: 'peer.restartFrom(this.#applied(region));',
        replace: 'void peer.restartFrom;',
      },
    ],
    seeds: { from: 71, count: 1 },
    profile: OLD_DISKS,
  },
  {
    name: 'trusted-at-once',
    breaks: 'D10',
    does: "counts the version clock of a peer's lost disk for UST before its stream has restarted",
    patches: [
      {
        file: REPLICATION,
        in: 'Replication.stableMinIn',
        find: '{ cap }] of this.#peers) if (',
        replace: '{ cap, resentUpTo }] of this.#peers) if (resentUpTo === undefined && ',
      },
    ],
    seeds: { from: 71, count: 1 },
    profile: OLD_DISKS,
  },
  {
    name: 'references-start-anew',
    breaks: 'P10',
    does: 'numbers its reads from one in each incarnation, and accepts answers to those of a previous incarnation',
    patches: [
      {
        file: READS,
        in: 'Reads.#ask',
        find: 'const ref = this.#nextRef === 0 ? this.state.clock.latest(now, 0) : this.#nextRef;',
        replace: 'const ref = this.#nextRef + 1;',
      },
    ],
    seeds: { from: 1, count: 20 },
  },
  {
    name: 'one-report-ends-the-wait',
    breaks: 'D10',
    does: 'decides for every partition of its disk as soon as a peer replica of one of them has reported',
    patches: [
      {
        file: VERIFICATION,
        in: 'Verification.#every',
        find: 'if (!holds(watch)) return false;\n    return true;',
        replace: 'if (holds(watch)) return true;\n    return false;',
      },
    ],
    seeds: { from: 17, count: 40 },
    profile: LATE_LINKS,
  },
];
