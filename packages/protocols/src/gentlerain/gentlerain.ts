/**
 * GentleRain (Du, Iorgulescu, Roy, Zwaenepoel: _GentleRain: Cheap and Scalable Causal Consistency with Physical
 * Clocks_, SoCC 2014), as the Okapi paper describes its baseline: one physical timestamp for each version, one global
 * stable time (GST) for each region. PUTs wait for clocks, ROTs for GST.
 *
 * `seen` is `[dt, GSTc]`: the highest timestamp that the client has read or written, and the highest GST that it has
 * received. A snapshot is one timestamp.
 */
import type { Deps, QualifiedKey, Timestamp, Version } from '@isochron/core';
import { PhysicalNodeClock } from '../kernel/node-clock.js';
import type { NodeState } from '../kernel/node-state.js';
import { stableEntries } from '../kernel/operations/entries.js';
import type { Found, OperationProtocol, OperationRules, ReplicaView, Stamp } from '../kernel/operations/protocol.js';
import { type Refusal, TOO_OLD } from '../kernel/transactions/snapshots.js';
import type { Wait } from '../kernel/waiting.js';

class GentleRainRules implements OperationRules {
  readonly entries = { seen: 2, snapshot: 1 };
  readonly reach = { get: 'chains', rot: 'keys' } as const;

  constructor(readonly state: NodeState) {}

  newest(seen: Deps): Timestamp {
    return Math.max(...seen);
  }

  arrive([dt = 0, gstC = 0]: Deps): Deps | undefined {
    const depends = Math.max(dt, gstC);
    return depends <= this.#gst ? [dt, depends] : undefined;
  }

  /** The clock must have passed everything that the version depends on. */
  floor([dt = 0]: Deps): Timestamp {
    return dt;
  }

  /** The client's stable time stays here; only the timestamp travels. */
  stamp([, gstC = 0]: Deps): Stamp {
    return { deps: [gstC] };
  }

  wrote([, gstC = 0]: Deps, ts: Timestamp): Deps {
    return [ts, gstC];
  }

  lacks([, gstC = 0]: Deps, { replication }: ReplicaView): Wait | undefined {
    return gstC > replication.vv.durableMin ? 'later' : undefined;
  }

  /** The freshest local version, or one from elsewhere that the region has with all that it depends on. */
  get(key: QualifiedKey, [dt = 0, gstC = 0]: Deps, { versions }: ReplicaView): Found {
    const gst = Math.max(this.#gst, gstC);
    const version = versions.find(key, ({ region, ts }) => region === this.state.region || ts <= gst);
    if (version === undefined) return { version, seen: [dt, gst] };
    // Dependencies of a local version may lie above this node's GST, never above its writer's GST.
    return { version, seen: [Math.max(dt, version.ts), Math.max(gst, version.deps?.[0] ?? 0)] };
  }

  /** The node that the client is connected to. */
  choosesAt(): undefined {}

  /** The snapshot covers everything that the client depends on: it waits until the region has all of it. */
  choose([dt = 0, gstC = 0]: Deps): Deps | Wait {
    const gst = Math.max(this.#gst, gstC);
    return dt > gst ? 'later' : [gst];
  }

  obstacle([st = 0]: Deps, { replication }: ReplicaView): Wait | Refusal | undefined {
    if (st < replication.gcFloor) return TOO_OLD;
    return st > replication.vv.durableMin ? 'later' : undefined;
  }

  /** GST implies it: it lies below every version clock of the region. */
  closes(): Timestamp {
    return 0;
  }

  read(key: QualifiedKey, [st = 0]: Deps, { versions }: ReplicaView): Version | undefined {
    return versions.at(key, st);
  }

  saw([dt = 0]: Deps, [st = 0]: Deps, versions: readonly (Version | null)[]): Deps {
    return [Math.max(dt, ...versions.map((version) => version?.ts ?? 0)), st];
  }

  get #gst(): Timestamp {
    return stableEntries(this.state)[0]!;
  }
}

/**
 * Causal consistency; one timestamp with a version; PUTs wait for clocks that are behind, ROTs for the farthest region.
 */
export const gentleRain: OperationProtocol = {
  name: 'gentlerain',
  Clock: PhysicalNodeClock,
  regional: { size: () => 1, own: (replicas) => [Math.min(...replicas.map(({ vv }) => vv.durableMin))] },
  rules: (state) => new GentleRainRules(state),
};
