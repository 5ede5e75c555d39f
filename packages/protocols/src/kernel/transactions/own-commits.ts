import type { Deps, KeyWrite, RegionId, SessionCut, Timestamp, TxId } from '@isochron/core';
import type { CachedWrite } from './write-cache.js';

/** The content of every send of one commit, unchanged in retries (D4, D5). */
export interface CommitAttempt {
  readonly txId: TxId;
  /** What the commit depends on, beside `hwt`: the snapshot that the transaction read from, or more. */
  readonly snapshot: Timestamp;
  /** The other entries of `snapshot`. */
  readonly deps?: Deps | undefined;
  readonly hwt: Timestamp;
  readonly sentAfter: Timestamp;
  readonly writes: readonly KeyWrite[];
}

/** Where a commit has taken effect. */
export interface CommitPlace {
  /** Version of the map of its attempt; absent for map 0. */
  readonly map?: number | undefined;
  /** Numbers of the nodes with slices; absent where they are not known. */
  readonly nodes?: readonly number[] | undefined;
}

/** The fields that fix the cohorts of an attempt (D4): unchanged from its first sending on. */
export interface AttemptCohorts {
  readonly home: RegionId;
  /** Regions that did not answer the node when the attempt was made. */
  readonly avoid: readonly RegionId[];
  /** Version of the node's map at that time. */
  readonly map: number;
}

/** The place of a commit, and the attempts that were sent. */
export interface SentPlace {
  readonly map: number | undefined;
  readonly nodes: readonly number[] | undefined;
  readonly attempts: readonly AttemptCohorts[];
}

/** A commit of the session that may not be stable. */
export interface OwnCommit {
  /** Everything that was sent, and all attempts: the commit may have to be sent again. */
  readonly sent: CommitAttempt;
  attempts: readonly AttemptCohorts[];
  /** The first timestamp that its caller got. */
  readonly acknowledged: Timestamp;
  /** The last timestamp at which it has committed. */
  ct: Timestamp;
  map: number | undefined;
  nodes: readonly number[] | undefined;
  readonly writes: readonly CachedWrite[];
  isDeferred: boolean;
}

/** A commit as data: its writes in the cache have its id. */
export type OwnState = Omit<OwnCommit, 'writes'>;

interface KnownCut extends SessionCut {
  /** Whether it has deferred a commit of the session: what the session wrote after that is deferred, too. */
  hits: boolean;
}

/**
 * The commits of a session that may not be stable, in their order, as the session judges them by the cuts that it
 * knows (M10). A commit that a cut has deferred lies above every snapshot until it is committed again. Meanwhile the
 * session sees nothing newer than what it has seen, which is below the horizon: so no snapshot of it contains the
 * commit.
 */
export class OwnCommits {
  #commits: OwnCommit[] = [];
  readonly #cuts: KnownCut[] = [];
  /** The commits that were made again, also once they are stable: the first and the last timestamp of each. */
  readonly #moved: (readonly [acknowledged: Timestamp, ct: Timestamp])[] = [];
  /** The latest unstable write on each node. */
  #needs = new Map<number | undefined, Timestamp>();

  constructor(commits: readonly OwnCommit[] = []) {
    for (const commit of commits) this.add(commit);
  }

  /** The commits that are deferred, in their order: the session commits them again before anything else. */
  get deferred(): readonly OwnCommit[] {
    return this.#commits.filter(({ isDeferred }) => isDeferred);
  }

  /**
   * The version of the map before the first cut that has deferred something; undefined while nothing is deferred, and
   * where the cut is not known, as after an import.
   */
  get mapBefore(): number | undefined {
    const [first] = this.deferred;
    const cut = first && this.#cuts.find(({ map, hits }) => hits && map > (first.map ?? 0));
    return cut && cut.map - 1;
  }

  /** Whether a map above a version has suspended nodes. */
  hasCutAfter(version: number): boolean {
    return this.#cuts.some(({ map }) => map > version);
  }

  /** The version of the newest map of which a cut is known. */
  get newestCut(): number | undefined {
    return this.#cuts.at(-1)?.map;
  }

  add(commit: OwnCommit): void {
    const { acknowledged, ct } = commit;
    this.#commits.push(commit);
    if (ct > acknowledged) this.#moved.push([acknowledged, ct]);
    if (!commit.isDeferred) this.#follow(commit);
  }

  /** Takes a cut, and returns whether it defers something. */
  cut(cut: SessionCut): boolean {
    if (this.#cuts.some(({ map }) => map === cut.map)) return false;
    const known = { ...cut, hits: false };
    this.#cuts.push(known);
    for (const commit of this.#commits) {
      if (!isDeferredBy(known, commit.ct, commit)) continue;
      known.hits = true;
      commit.isDeferred = true;
    }
    if (known.hits) this.#refollow();
    return known.hits;
  }

  /** Whether a cut defers a commit with this answer, which is older than the cut. */
  isOvertaken(ct: Timestamp, place: CommitPlace): boolean {
    const cut = this.#cuts.find((known) => isDeferredBy(known, ct, place));
    if (cut !== undefined) cut.hits = true;
    return cut !== undefined;
  }

  /** The timestamp up to which stable time has to rise for all that the session had written by then. */
  finalOf(timestamp: Timestamp): Timestamp {
    if (this.#commits.some(({ acknowledged, isDeferred }) => isDeferred && acknowledged <= timestamp))
      return Number.POSITIVE_INFINITY;
    return Math.max(timestamp, ...this.#moved.flatMap(([first, last]) => (first <= timestamp ? last : [])));
  }

  /** To continue elsewhere (D9): the commits whose nodes are known. */
  export(): readonly OwnState[] {
    return this.#commits.flatMap(({ writes: _, ...state }) => (state.nodes === undefined ? [] : state));
  }

  /** A deferred commit is committed again. */
  again(commit: OwnCommit, ct: Timestamp, { map, nodes }: CommitPlace): void {
    Object.assign(commit, { ct, map, nodes, isDeferred: false });
    this.#moved.push([commit.acknowledged, ct]);
    for (const write of commit.writes) Object.assign(write, { ct });
    this.#refollow();
  }

  /** The session goes on without these commits. Returns the ids. */
  drop(isDropped: (commit: OwnCommit) => boolean): readonly TxId[] {
    const dropped = this.#commits.filter(isDropped);
    this.#commits = this.#commits.filter((commit) => !isDropped(commit));
    return dropped.map(({ sent }) => sent.txId);
  }

  /** Up to here everything is stable. */
  prune(stable: Timestamp): void {
    let gone = 0;
    while (gone < this.#commits.length && !this.#commits[gone]!.isDeferred && this.#commits[gone]!.ct <= stable) gone++;
    if (gone > 0) this.#commits.splice(0, gone);
    for (const [node, ct] of this.#needs) if (ct <= stable) this.#needs.delete(node);
  }

  /**
   * What the next commit follows: nothing that is deferred, which is committed again before. Nothing either where the
   * nodes of a write are not known: the highest write may then need any node.
   */
  behind(): readonly { readonly node: number; readonly ct: Timestamp }[] {
    const needs = [...this.#needs].flatMap(([node, ct]) => (node === undefined ? [] : { node, ct }));
    return needs.length === this.#needs.size ? needs : [];
  }

  #follow({ ct, nodes }: OwnCommit): void {
    for (const node of nodes ?? [undefined]) this.#needs.set(node, ct);
  }

  #refollow(): void {
    this.#needs = new Map();
    for (const commit of this.#commits) if (!commit.isDeferred) this.#follow(commit);
  }
}

/** M4: it has a slice on a suspended node, or follows a write that the cut has deferred. */
const isDeferredBy = ({ map, horizon, nodes: suspended, hits }: KnownCut, ct: Timestamp, place: CommitPlace): boolean =>
  (place.map ?? 0) < map &&
  ct > horizon &&
  (hits || place.nodes === undefined || place.nodes.some((node) => suspended.includes(node)));
