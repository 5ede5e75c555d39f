/** Sessions: what a client stores, and how it judges answers by the cuts that it knows (M6, M10). */
import type { Commits } from './commits.js';
import { isFenced, recommitCohorts, recommitNumber } from './returning.js';
import {
  type Attempt,
  type Behind,
  type ClusterMap,
  type Cohorts,
  type CoordinatedAttempt,
  type ModelNode,
  mapOf,
  type OwnWrite,
  type Result,
  type Session,
} from './state.js';
import { type MessageOf, Violation, type World } from './world.js';

export class Sessions {
  constructor(
    readonly world: World,
    readonly commits: Commits,
  ) {}

  /** The session's oldest write that is deferred: later writes wait for it. */
  deferredOf({ unstable }: Session): OwnWrite | undefined {
    return unstable.find(({ ct }) => ct === null);
  }

  /** Reads partitions in one snapshot, each at a node. */
  read(session: Session, partitions: readonly number[], from: Readonly<Record<number, number>>): void {
    const node = this.#served(session);
    if (node === undefined) return;
    const snapshot = Math.max(session.seen, node.ust);
    if (this.world.minimumOf(node) < snapshot) return;
    node.ust = Math.max(node.ust, snapshot);
    session.seen = snapshot;
    const id = ++session.reads;
    const own = session.unstable.map(({ tx, ct }) => ({ tx, ct }));
    session.read = { id, snapshot, partitions, got: new Map(), own, past: new Set(session.past) };
    const deferred = own.flatMap(({ tx, ct }) => (ct === null ? [tx] : []));
    const request = { snapshot, session: session.number, read: id, sessionMap: session.map, deferred };
    for (const partition of partitions)
      this.world.send(node, from[partition]!, { type: 'Read', partition, ...request });
  }

  onRead(node: ModelNode, from: number, request: MessageOf<'Read'>): void {
    const { world } = this;
    const { partition, snapshot, sessionMap, deferred, session, read } = request;
    if (!world.is('readsOfAnyMap')) {
      if (sessionMap > node.map && !world.is('servesHigherMap')) return;
      // M6: up to the horizons of the maps between, a snapshot of a lower map is one of this map.
      const between = node.maps.slice(sessionMap + 1, node.map + 1);
      if (between.some(({ suspends, horizon }) => suspends.length > 0 && snapshot > horizon)) return;
    }
    if (world.minimumOf(node) < snapshot) return;
    const visible = node.log[partition]!.filter(({ ct }) => ct <= snapshot);
    const newest = visible.sort((a, b) => b.ct - a.ct || b.tx - a.tx)[0]?.tx ?? -1;
    const name = `${partition}@${snapshot}`;
    const shown = world.shown.get(name) ?? newest;
    world.shown.set(name, newest);
    if (shown !== newest)
      throw new Violation('a snapshot never changes', `${name}: ${shown}, then ${newest} at ${node.id} of ${node.map}`);
    // M10: a deferred write may be part of the snapshot by now.
    const contained = world.is('laysOverBlindly') ? [] : visible.filter(({ tx }) => deferred.includes(tx));
    world.send(node, from, { type: 'ReadAnswer', partition, session, read, tx: newest, contained });
  }

  onReadAnswer(
    node: ModelNode,
    { session: number, read: id, partition, tx, contained }: MessageOf<'ReadAnswer'>,
  ): void {
    const session = this.world.sessions[number]!;
    const { read } = session;
    if (read?.id !== id || session.at !== node.id) return;
    read.got.set(partition, tx);
    for (const entry of contained) {
      for (const own of read.own) if (own.tx === entry.tx && own.ct === null) own.ct = entry.ct;
      this.#learn(session, entry);
    }
    if (read.got.size === read.partitions.length) this.#finish(session);
  }

  /** Commits a write to partitions. */
  write(session: Session, partitions: readonly number[]): void {
    const node = this.#served(session);
    if (node === undefined || this.deferredOf(session) !== undefined) return;
    const { transactions } = this.world;
    const past = new Set([...session.past].flatMap((tx) => [tx, ...transactions[tx]!.past]));
    const tx = transactions.push({ partitions, past }) - 1;
    session.left--;
    const cohorts = this.#cohorts(node, partitions);
    const behind = behindOf(session.unstable);
    const above = aboveOf(session, session.unstable);
    const attempt = { tx, attempt: 0, map: node.map, cohorts, behind, first: undefined };
    session.pending = { ...attempt, above, cuts: [], isRefused: false, next: 0 };
    this.commits.begin(node, attempt, above, session.number);
  }

  /** Repeats a commit without an answer, or commits the oldest deferred write again (M8, M10). */
  repeat(session: Session): void {
    const node = this.#served(session);
    if (node === undefined) return;
    const deferred = this.deferredOf(session);
    if (deferred !== undefined) {
      const before = session.unstable.slice(0, session.unstable.indexOf(deferred));
      const first = deferred.first ?? deferred.was;
      const again = this.#recommit(session, node, deferred.tx, before, deferred.next, first);
      if (again !== undefined) deferred.asked = again.attempt;
      return;
    }
    const { pending } = session;
    if (pending === undefined) return;
    for (const map of node.maps.slice(pending.map + 1, node.map + 1))
      if (mayConcern(map, pending)) this.#doubt(session, map);
    const { tx, cuts, next, isRefused } = pending;
    if (cuts.length > 0) {
      const again = this.#recommit(session, node, tx, session.unstable, next, undefined);
      if (again !== undefined) session.pending = { ...pending, ...again, isRefused: false };
      return;
    }
    if (isRefused) {
      const cohorts = this.#cohorts(node, this.world.transactions[tx]!.partitions);
      const attempt = pending.attempt + 1;
      const above = aboveOf(session, session.unstable);
      const behind = behindOf(session.unstable);
      session.pending = {
        tx,
        attempt,
        map: node.map,
        cohorts,
        behind,
        first: undefined,
        above,
        cuts,
        isRefused: false,
        next,
      };
    }
    this.commits.begin(node, session.pending!, session.pending!.above, session.number);
  }

  decided(node: ModelNode, { tx, by }: CoordinatedAttempt, result: Result): void {
    const session = this.world.sessions[by]!;
    if (session.at !== node.id) return;
    if (session.pending?.tx !== tx) {
      if (this.#learn(session, result)) this.world.counts.recommits++;
      return;
    }
    this.world.acknowledged.add(tx);
    this.world.counts.commits++;
    const write = { ...result, was: result.ct, cuts: [], asked: result.attempt, next: 0 };
    session.unstable.push(write);
    this.#judge(session, write);
    session.past.add(tx);
    session.pending = undefined;
  }

  refused(node: ModelNode, { tx, by, attempt }: CoordinatedAttempt, next: number): void {
    const session = this.world.sessions[by]!;
    if (session.at !== node.id) return;
    const { pending } = session;
    if (pending?.tx === tx) {
      if (pending.attempt !== attempt) return;
      pending.isRefused = true;
      pending.next = next;
      return;
    }
    const write = session.unstable.find((one) => one.tx === tx && one.ct === null);
    if (write?.asked === attempt) write.next = next;
  }

  /** M6: the node that serves a session, if it does; the session learns the cuts that the node knows. */
  #served(session: Session): ModelNode | undefined {
    const { world } = this;
    const node = world.nodes[session.at]!;
    if (!node.isUp) return undefined;
    if (world.is('readsOfAnyMap')) {
      session.map = node.map;
      return node;
    }
    if (session.map > node.map && !world.is('servesHigherMap')) return undefined;
    for (const map of node.maps.slice(session.map + 1, node.map + 1)) {
      if (map.suspends.length === 0) continue;
      if (session.seen > map.horizon)
        throw new Violation(
          'no session has seen above a horizon',
          `${session.number}: ${session.seen} > ${map.horizon}`,
        );
      session.cuts.push(map);
      if (!world.is('sessionIgnoresCuts')) for (const write of session.unstable) this.#cut(map, write);
    }
    session.map = Math.max(session.map, node.map);
    session.unstable = session.unstable.filter(({ ct }) => ct === null || ct > session.seen);
    return node;
  }

  /** A deferred write is committed after all. @returns whether the session has such a write */
  #learn(session: Session, { tx, attempt, map, cohorts, behind, first, ct }: Result): boolean {
    const write = session.unstable.find((one) => one.tx === tx && one.ct === null);
    if (write === undefined) return false;
    Object.assign(write, { attempt, map, cohorts, behind, first, ct });
    this.#judge(session, write);
    return true;
  }

  /** An answer may be older than the cuts that the session knows. */
  #judge({ cuts }: Session, write: OwnWrite): void {
    if (!this.world.is('sessionTrustsAnswers')) for (const map of cuts) this.#cut(map, write);
  }

  #cut(map: ClusterMap, write: OwnWrite): void {
    if (!this.world.defers(map, write, write.ct ?? write.was)) return;
    if (write.ct !== null) {
      write.was = write.ct;
      write.ct = null;
      write.cuts = [];
    }
    if (!write.cuts.includes(map.version)) write.cuts.push(map.version);
  }

  /** In doubt, and perhaps cut: only a commit that is made again decides it. */
  #doubt({ pending }: Session, { version }: ClusterMap): void {
    if (this.world.is('doubtIsForgotten')) pending!.isRefused = true;
    else if (!pending!.cuts.includes(version)) pending!.cuts.push(version);
  }

  /** M8: one identity in each map. Undefined while the fence is closed, or a partition has no member. */
  #recommit(
    session: Session,
    node: ModelNode,
    tx: number,
    before: readonly OwnWrite[],
    next: number,
    first: number | undefined,
  ): (Attempt & { above: number }) | undefined {
    const { partitions } = this.world.transactions[tx]!;
    const cohorts = isFenced(this.world, node)
      ? recommitCohorts(mapOf(node), partitions, this.world.shape.hosts)
      : undefined;
    if (cohorts === undefined) return undefined;
    const attempt = {
      tx,
      attempt: recommitNumber(node, next),
      map: node.map,
      cohorts,
      behind: behindOf(before),
      first,
    };
    const above = aboveOf(session, before);
    this.commits.begin(node, attempt, above, session.number);
    return { ...attempt, above };
  }

  /** The own node where it has the partition, else a node that can be reached. */
  #cohorts(node: ModelNode, partitions: readonly number[]): Cohorts {
    const choose = (partition: number): number => {
      const held = this.world.shape.hosts[partition]!;
      const order = held.includes(node.id) ? [node.id, ...held] : held;
      return order.find((id) => this.world.reaches(node.id, id)) ?? order[0]!;
    };
    return Object.fromEntries(partitions.map((partition) => [partition, choose(partition)]));
  }

  /** The read has everything: it contains the session's causal past, its own writes included. */
  #finish(session: Session): void {
    const { transactions, counts } = this.world;
    const { snapshot, partitions, got, own, past: before } = session.read!;
    const result = new Map<number, number>();
    for (const partition of partitions) {
      const laid = own.filter(
        ({ tx, ct }) => (ct === null || ct > snapshot) && transactions[tx]!.partitions.includes(partition),
      );
      result.set(partition, laid.at(-1)?.tx ?? got.get(partition)!);
    }
    const past = new Set(before);
    for (const tx of result.values()) if (tx >= 0) for (const one of [tx, ...transactions[tx]!.past]) past.add(one);
    for (const [partition, tx] of result)
      for (const one of past) {
        const { partitions: written, past: earlier } = transactions[one]!;
        if (written.includes(partition) && (tx < 0 || earlier.has(tx)))
          throw new Violation(
            'a read contains its causal past',
            `session ${session.number} at ${session.at}, snapshot ${snapshot}: partition ${partition} gives ${tx}, not ${one}`,
          );
      }
    for (const tx of past) session.past.add(tx);
    session.read = undefined;
    counts.reads++;
  }
}

/** What a commit follows in its session: its unstable writes, and what these follow. */
const behindOf = (unstable: readonly OwnWrite[]): Behind =>
  unstable.flatMap(({ ct, cohorts, behind }) =>
    ct === null ? [] : [...[...new Set(Object.values(cohorts))].map((id) => [id, ct] as const), ...behind],
  );

const aboveOf = ({ seen }: Session, unstable: readonly OwnWrite[]): number =>
  Math.max(seen, ...unstable.map(({ ct }) => ct ?? 0));

/** Whether a map may have deferred an attempt without an answer, whose timestamp is not known. */
const mayConcern = ({ suspends, horizon }: ClusterMap, { cohorts, behind }: Attempt): boolean =>
  Object.values(cohorts).some((id) => suspends.includes(id)) ||
  behind.some(([id, ct]) => suspends.includes(id) && ct > horizon);
