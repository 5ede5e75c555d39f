/**
 * The receiving end of dependency checks. A response is a promise that the needed versions are here, with all their
 * dependencies, and stay (D1). So only data on disk count, and a disk that may be a rolled-back one gives no response
 * (D10).
 */
import type { Deps, WallMs } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { Replication } from '../replication/replication.js';
import { Waiting } from '../waiting.js';
import type { DepCheckReq, OperationMessage } from './messages.js';

type Out = Effects<OperationMessage>;

interface DependencyCheck {
  readonly needs: Deps;
  readonly satisfied: (since: WallMs, now: WallMs, out: Out) => void;
}

export class DependencyChecks {
  readonly waiting = new Waiting<DependencyCheck>('waitingChecks');
  /** `vv.changes` at the last look. */
  #seen = -1;

  constructor(readonly replication: Replication) {}

  /** Answers once everything is here. */
  onRequest({ ref, needs }: DepCheckReq, now: WallMs, from: Address, out: Out): void {
    const answer = (later: Out) => later.send(from, { type: 'DepCheckResp', ref });
    this.wait(`${from.node}/${from.machine}/${ref}`, needs, (_now, later) => answer(later), now, out);
  }

  /**
   * Calls back once everything needed is here: in this step, or in a later one.
   *
   * @param id a repeated question waits once
   * @param needs pairs of a region's position and a timestamp
   */
  wait(id: string, needs: Deps, satisfied: (now: WallMs, out: Out) => void, now: WallMs, out: Out): void {
    if (!this.#sensible(needs)) return;
    if (this.#covers(needs, now)) satisfied(now, out);
    else {
      const ended = (since: WallMs, at: WallMs, later: Out) => {
        this.waiting.ended(since, at);
        satisfied(at, later);
      };
      this.waiting.add(id, { needs, satisfied: ended }, now, 'later', out);
      this.#seen = -1;
    }
  }

  /** Calls back the checks whose wait is over. */
  release(now: WallMs, out: Out): void {
    if (this.waiting.size === 0 || this.replication.suspects(now) || this.#seen === this.replication.vv.changes) return;
    this.#seen = this.replication.vv.changes;
    const ready: { check: DependencyCheck; since: WallMs }[] = [];
    this.waiting.release(
      ({ needs }) => (this.#covers(needs, now) ? undefined : 'later'),
      (check, since) => ready.push({ check, since }),
      out,
    );
    for (const { check, since } of ready) check.satisfied(since, now, out);
  }

  /**
   * Whether this replica has everything that it has ever shown. After the loss of its disk, that is so once the stable
   * time has passed the loss (D10).
   */
  whole(now: WallMs): boolean {
    const { stable, membership } = this.replication.state;
    return stable.aggregated >= membership.incarnation && !this.replication.suspects(now);
  }

  /** D12: a need that names a region that does not exist is ignored. */
  #sensible(needs: Deps): boolean {
    const { regions } = this.replication.state.topology;
    return needs.length % 2 === 0 && needs.every((entry, i) => i % 2 === 1 || entry < regions.length);
  }

  #covers(needs: Deps, now: WallMs): boolean {
    const { vv, state } = this.replication;
    if (this.replication.suspects(now)) return false;
    for (let i = 0; i < needs.length; i += 2) {
      if (vv.durable(state.topology.regions[needs[i]!]!) < needs[i + 1]!) return false;
    }
    return true;
  }
}
