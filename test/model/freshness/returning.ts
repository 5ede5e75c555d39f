/** The return of a node: it commits again, in the old order, what was deferred because of it (M9, M11, M12). */
import type { Commits } from './commits.js';
import {
  type Attempt,
  type ClusterMap,
  type CoordinatedAttempt,
  type DeferredSlice,
  isMember,
  type ModelNode,
  mapOf,
  partitionsOf,
  type Result,
} from './state.js';
import type { MessageOf, World } from './world.js';

/** Attempts of a map have numbers from this many times its version on: one identity for each map and round (M8). */
const ROUNDS = 1000;

/** The number of the next attempt to commit a transaction again, in a node's map. */
export function recommitNumber({ map }: ModelNode, next: number): number {
  const first = ROUNDS * (map + 1);
  return next >= first && next < first + ROUNDS ? next : first;
}

/**
 * M8: the cohorts of a commit that is made again are a function of map and partitions alone; undefined while a
 * partition has no member.
 */
export function recommitCohorts(
  { members, returns }: ClusterMap,
  partitions: readonly number[],
  hosts: World['shape']['hosts'],
): Record<number, number> | undefined {
  const cohorts: Record<number, number> = {};
  for (const partition of partitions) {
    const held = hosts[partition]!.filter((id) => members.includes(id));
    if (held.length === 0) return undefined;
    cohorts[partition] = held.find((id) => returns.includes(id)) ?? held[0]!;
  }
  return cohorts;
}

/** M9: nothing is committed again before stable time has passed the clocks with which all members adopted the map. */
export const isFenced = (world: World, { fence, map, ust }: ModelNode): boolean =>
  world.is('noFence') || (fence.map === map && ust >= fence.clock);

export class Returns {
  constructor(
    readonly world: World,
    readonly commits: Commits,
  ) {}

  mayBegin(node: ModelNode): boolean {
    const { isUp, returning, owes, hasToOpen } = node;
    return (
      isUp && returning === undefined && owes && !hasToOpen && isMember(node, node.id) && isFenced(this.world, node)
    );
  }

  begin(node: ModelNode): void {
    node.returning = {
      map: node.map,
      lists: {},
      owed: undefined,
      current: undefined,
      result: undefined,
      behind: [],
      above: 0,
    };
    this.#ask(node);
  }

  /** One step: the next transaction, or the same one again where messages were lost. */
  step(node: ModelNode): void {
    const { returning } = node;
    if (returning === undefined) return;
    if (node.map !== returning.map) {
      node.returning = undefined;
      return;
    }
    if (returning.owed === undefined) {
      this.#ask(node);
      return;
    }
    const { current, result } = returning;
    if (current !== undefined) {
      if (result === undefined) this.commits.begin(node, current, current.above, current.by);
      else this.#recommitted(returning, result);
      return;
    }
    const next = returning.owed.shift();
    if (next === undefined) {
      node.returning = undefined;
      node.owes = false;
      return;
    }
    if (this.#isLogged(node, next.tx)) return;
    const cohorts = recommitCohorts(mapOf(node), next.partitions, this.world.shape.hosts);
    if (cohorts === undefined) return;
    const attempt: Attempt = {
      tx: next.tx,
      attempt: recommitNumber(node, 0),
      map: node.map,
      cohorts,
      behind: [...returning.behind],
      first: next.first,
    };
    returning.current = this.commits.begin(node, attempt, Math.max(returning.above, node.ust), -1);
  }

  onDeferredReq(node: ModelNode, from: number, { map, fence }: MessageOf<'DeferredReq'>): void {
    if (node.map !== map || node.ust < fence) return;
    const list = [...node.deferred.values()]
      .filter((slice) => !this.#isLogged(node, slice.tx) && !this.#waits(node, slice))
      .map((slice) => ({ ...slice }));
    this.world.send(node, from, { type: 'DeferredResp', map, list });
  }

  onDeferredResp(node: ModelNode, from: number, { map, list }: MessageOf<'DeferredResp'>): void {
    const { returning } = node;
    if (returning === undefined || returning.map !== map || returning.owed !== undefined) return;
    returning.lists[from] = list;
    if (mapOf(node).members.some((id) => returning.lists[id] === undefined)) return;
    const owed = wholeTransactions(Object.values(returning.lists).flat(), this.world.is('returnsByLastTime'));
    returning.owed = this.world.is('returnsBackwards') ? owed.reverse() : owed;
  }

  decided(node: ModelNode, { tx }: CoordinatedAttempt, result: Result): void {
    if (node.returning?.current?.tx === tx) node.returning.result = result;
  }

  /** Another round of the same map; under another map the return begins anew. */
  refused(node: ModelNode, { tx, attempt, map }: CoordinatedAttempt, next: number): void {
    const { returning } = node;
    if (map !== node.map) node.returning = undefined;
    else if (returning?.current?.tx === tx && returning.current.attempt === attempt)
      returning.current = { ...returning.current, attempt: next };
  }

  #recommitted(returning: NonNullable<ModelNode['returning']>, { cohorts, ct }: Result): void {
    returning.above = Math.max(returning.above, ct);
    // M11: what follows is behind.
    if (!this.world.is('returnsWithoutBehind')) {
      const nodes = new Set(Object.values(cohorts));
      returning.behind = [...returning.behind, ...[...nodes].map((id) => [id, ct] as const)];
    }
    returning.current = undefined;
    returning.result = undefined;
    this.world.counts.returns++;
  }

  #ask(node: ModelNode): void {
    const fence = this.world.is('noFence') ? 0 : node.fence.clock;
    for (const id of mapOf(node).members)
      if (node.returning!.lists[id] === undefined)
        this.world.send(node, id, { type: 'DeferredReq', map: node.map, fence });
  }

  #isLogged({ log }: ModelNode, tx: number): boolean {
    return Object.values(log).some((entries) => entries.some((entry) => entry.tx === tx));
  }

  /** M11: a transaction that also waits for a node that is still away stays. */
  #waits(node: ModelNode, slice: DeferredSlice): boolean {
    if (this.world.is('returnsWhatWaits')) return false;
    const isAway = (id: number) => !isMember(node, id);
    const horizon = node.maps.find((map) => this.world.defers(map, slice, slice.ct))?.horizon ?? 0;
    return Object.values(slice.cohorts).some(isAway) || slice.behind.some(([id, ct]) => isAway(id) && ct > horizon);
  }
}

/** The transactions of which all slices of an attempt are there, the latest attempt of each, in their first order. */
function wholeTransactions(slices: readonly DeferredSlice[], byLast: boolean) {
  const attempts = new Map<number, Map<number, DeferredSlice[]>>();
  for (const slice of slices) {
    const ofTx = attempts.get(slice.tx) ?? new Map<number, DeferredSlice[]>();
    attempts.set(slice.tx, ofTx);
    ofTx.set(slice.attempt, [...(ofTx.get(slice.attempt) ?? []), slice]);
  }
  const whole = [...attempts].flatMap(([tx, ofTx]) => {
    for (const [, found] of [...ofTx].sort(([a], [b]) => b - a)) {
      const partitions = partitionsOf(found[0]!.cohorts);
      if (!partitions.every((partition) => found.some((slice) => slice.partition === partition))) continue;
      const committed = found.find(({ isCommitted }) => isCommitted);
      const timeOf = (slice: DeferredSlice) => (byLast ? slice.ct : slice.first);
      const first = committed === undefined ? Math.max(...found.map(timeOf)) : timeOf(committed);
      return [{ tx, first, partitions }];
    }
    return [];
  });
  return whole.sort((a, b) => a.first - b.first);
}
