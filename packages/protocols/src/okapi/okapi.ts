/**
 * Okapi (Didona, Spirovska, Zwaenepoel: _Okapi: Causally Consistent Geo-Replication Made Faster, Cheaper and More
 * Available_, 2017): hybrid clocks; a version from another region is visible once every region has it; no dependencies
 * on the wire.
 *
 * `seen` is `[dt, ...USVc]`: the highest timestamp of a local version that the client has seen, and its universal
 * stable vector. A snapshot is `[lts, ...USV]`.
 */
import type { Deps, QualifiedKey, RegionId, Timestamp, Version, WallMs } from '@isochron/core';
import { NodeClock } from '../kernel/node-clock.js';
import type { NodeState } from '../kernel/node-state.js';
import { covered, installed, lacksRemote, stableEntries, withEntry } from '../kernel/operations/entries.js';
import type { Found, OperationProtocol, OperationRules, ReplicaView, Stamp } from '../kernel/operations/protocol.js';
import { entrywiseMax } from '../kernel/operations/session.js';
import { type Refusal, TOO_OLD } from '../kernel/transactions/snapshots.js';
import type { Wait } from '../kernel/waiting.js';

class OkapiRules implements OperationRules {
  readonly entries: OperationRules['entries'];
  readonly reach = { get: 'chains', rot: 'chains' } as const;
  readonly #regions: readonly RegionId[];
  /** Position of the own region (the paper's m). */
  readonly #m: number;

  constructor(readonly state: NodeState) {
    this.#regions = state.topology.regions;
    this.entries = { seen: 1 + this.#regions.length, snapshot: 1 + this.#regions.length };
    this.#m = this.#regions.indexOf(state.region);
  }

  newest(seen: Deps): Timestamp {
    return Math.max(...seen);
  }

  /** `dt` belongs to the client's previous region: there it was visible before it was universal. */
  arrive([dt = 0, ...usvC]: Deps, from: RegionId): Deps | undefined {
    const there = this.#regions.indexOf(from);
    const depends = withEntry(usvC, there, Math.max(usvC[there]!, dt));
    return covered(depends, stableEntries(this.state)) ? [dt, ...depends] : undefined;
  }

  /** Alg. 3 line 2. */
  floor(seen: Deps): Timestamp {
    return Math.max(...seen);
  }

  /** Alg. 1 line 9, Alg. 2 lines 9–10 and 14: the vector stays here. */
  stamp([, ...usvC]: Deps, ts: Timestamp): Stamp {
    return { deps: withEntry(usvC, this.#m, ts) };
  }

  /** Alg. 1 line 12. */
  wrote([, ...usvC]: Deps, ts: Timestamp): Deps {
    return [ts, ...usvC];
  }

  lacks([, ...usvC]: Deps, { replication }: ReplicaView): Wait | undefined {
    return lacksRemote(usvC, replication);
  }

  /** Alg. 2 lines 1–6: the freshest local version, or one that every region has. */
  get(key: QualifiedKey, [dt = 0, ...usvC]: Deps, { versions }: ReplicaView): Found {
    const usv = entrywiseMax(stableEntries(this.state), usvC);
    const version = versions.find(
      key,
      ({ region, ts }) => region === this.state.region || this.#stable(region, ts, usv),
    );
    return { version, seen: this.#saw(dt, usv, version) };
  }

  /** The node that the client is connected to. */
  choosesAt(): undefined {}

  /** Alg. 2 lines 18–19. */
  choose([dt = 0, ...usvC]: Deps, now: WallMs): Deps {
    const lts = Math.max(this.state.clock.read(now), dt);
    return [lts, ...entrywiseMax(stableEntries(this.state), usvC)];
  }

  obstacle([lts = 0, ...usv]: Deps, { replication }: ReplicaView): Wait | Refusal | undefined {
    if (Math.min(lts, ...usv) < replication.gcFloor) return TOO_OLD;
    return lacksRemote(usv, replication);
  }

  /** Alg. 2 line 30: the clock moves to `lts`. */
  closes([lts = 0]: Deps): Timestamp {
    return lts;
  }

  /** Alg. 2 lines 32–37. */
  read(key: QualifiedKey, [lts = 0, ...usv]: Deps, { versions }: ReplicaView): Version | undefined {
    const ts = withEntry(usv, this.#m, lts);
    return versions.find(key, (version) => {
      const { region, deps } = version;
      if (region !== this.state.region) return this.#stable(region, version.ts, usv);
      // A local version that came back from another region with a copy (D10) has no vector: its dependencies are
      // universal.
      if (deps === undefined) return version.ts <= lts;
      // A universal one is shown in all regions alike: elsewhere its timestamp decides, and a session may come from
      // there (D9).
      return this.#stable(region, version.ts, usv) || covered(deps, ts);
    });
  }

  /** Alg. 1 lines 18–21. */
  saw([dt = 0]: Deps, [, ...usv]: Deps, versions: readonly (Version | null)[]): Deps {
    const local = versions.flatMap((version) => (version?.region === this.state.region ? [version.ts] : []));
    return [Math.max(dt, ...local), ...usv];
  }

  #stable(region: RegionId, ts: Timestamp, usv: Deps): boolean {
    return ts <= (usv[this.#regions.indexOf(region)] ?? 0);
  }

  /**
   * The new `seen` of a client that gets a version by a GET. A local one is visible before this node's USV has reached
   * its dependencies: then the client must learn them (the paper returns the node's USV alone).
   */
  #saw(dt: Timestamp, usv: Deps, version: Version | undefined): Deps {
    if (version === undefined || version.region !== this.state.region) return [dt, ...usv];
    const remote = withEntry(version.deps ?? usv, this.#m, 0);
    return [Math.max(dt, version.ts), ...entrywiseMax(usv, remote)];
  }
}

/**
 * Causal consistency; ROTs never wait; one timestamp with a replicated version; remote versions show once they are
 * everywhere.
 */
export const okapi: OperationProtocol = {
  name: 'okapi',
  Clock: NodeClock,
  regional: { size: ({ regions }) => regions.length, own: installed, everywhere: true },
  rules: (state) => new OkapiRules(state),
};
