import type { DurableRecord } from '@isochron/core';
import { MAX_TIMESTAMP, packWall, type Timestamp, Topology } from '@isochron/core';
import { Maps } from '../maps/maps.js';
import { recoverReplicaState } from '../node-parts.js';
import { DEFAULT_SETTINGS } from '../settings.js';
import { ChangeRetention } from './change-retention.js';
import { Membership } from './membership.js';
import { StableTime } from './stable-time.js';

const HOUR_MS = 3_600_000;
const START = Date.UTC(2026, 0, 1);
const at = (ms: number): Timestamp => packWall(START + ms);

/** The truncations of a partition with these versions, at a stable time. */
function truncations(stable: Timestamp, confirmedUpTo: Timestamp): Timestamp[] {
  const written: DurableRecord[] = [];
  const state = {
    stable: new StableTime(stable),
    settings: { ...DEFAULT_SETTINGS, changeRetentionMs: HOUR_MS },
    membership: new Membership(true, 0, 0),
  };
  const out = {
    write: (record: DurableRecord) => written.push(record),
    send: () => {},
    sendAfterPersist: () => {},
  };
  new ChangeRetention(0, state, 1).collect(at(0), confirmedUpTo, true, {
    ...out,
    lastWrite: () => 0,
    setTimer: () => {},
  });
  return written.flatMap((record) => (record.kind === 'horizon' ? [record.upTo] : []));
}

describe('the retention of changes', () => {
  it('a log is truncated by age where every peer has its groups, and keeps a group that a peer may ask for', () => {
    expect(truncations(at(3 * HOUR_MS), MAX_TIMESTAMP)).toEqual([at(2 * HOUR_MS)]);
    expect(truncations(at(3 * HOUR_MS), at(HOUR_MS))).toEqual([at(HOUR_MS)]);
  });

  it('a truncation by age does not count as confirmed by every peer after a restart', () => {
    const cluster = {
      regions: ['p', 'q'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
      keyspaces: [{ name: 'default', partitions: 1, replication: 2 }],
    };
    const topology = Topology.of(cluster);
    const confirmed = (...meta: [string, number][]) =>
      recoverReplicaState(
        0,
        { node: topology.nodes[0]!, topology, recovered: { meta: new Map(meta), prepared: [], logEnds: new Map() } },
        new Maps(topology, new Map(meta)),
      ).truncatedUpTo;
    expect(confirmed(['changes/0', 1], ['logTruncatedUpTo/0', 9])).toBe(0);
    expect(confirmed(['changes/0', 1], ['logTruncatedUpTo/0', 9], ['logConfirmedUpTo/0', 5])).toBe(5);
    // A folder of a build without changes: only what every peer had was truncated.
    expect(confirmed(['logTruncatedUpTo/0', 9])).toBe(9);
  });
});
