import { IsochronError, type RegionId, type Timestamp, type WallMs } from '@isochron/core';

/** Once one peer has reported, another silent one is waited for this long after its link came up. */
const GRACE_MS = 2_000;
const NEVER = Number.POSITIVE_INFINITY;
/** How many starts without verification by every peer are kept. */
const REMEMBERED = 100;

/** A start: where the disk ended, and where the incarnation on it began. This replica has made nothing between. */
interface Start {
  /** Own version clock, and ceiling of the HLC, on the disk. */
  readonly clock: Timestamp;
  readonly ceiling: Timestamp;
  /** Lowest version clock that was published since. */
  readonly firstClock: Timestamp;
  /**
   * Lowest group of a transaction that was not on the disk, and the groups of recovered ones that were applied since.
   */
  readonly firstGroup: Timestamp;
  readonly recovered: Timestamp[];
}
const PARTS = ['clock', 'ceiling', 'firstClock', 'firstGroup'] as const;

/** Starts as a meta record holds them. */
export type RollbackEvidence = { readonly [name: string]: Timestamp };

/**
 * Notices that a disk was rolled back (D10): a peer has received a version clock or a group from this replica that was
 * neither on the disk at the start nor made by this incarnation. A version clock never leaves above the durable
 * ceiling, and a group never before it is durable. So those beyond them, and below the first of this incarnation, were
 * lost.
 *
 * After a start the node waits for the reports of the peers (`Verification`). If one of them stays away, this
 * incarnation continues without its report: rollback evidence, which outlives a crash. Verified evidence is dropped.
 */
export class RollbackWatch {
  readonly #former: readonly Start[];
  #start: Start;
  /** Where the clock began: proposals of this incarnation lie above. */
  #begin: Timestamp = 0;
  /** Peers that have not reported since the start. */
  readonly #unreported: Set<RegionId>;
  #peerCount: number;
  /** When the first link to a peer came up, and since when each present link is up. */
  #firstLinkAt: WallMs | undefined;
  readonly #linkedAt = new Map<RegionId, WallMs>();
  #copied = false;
  /** Whether any start is recorded on the disk, and whether this one is. */
  #recorded: boolean;
  #kept = false;

  /**
   * @param clock own version clock that the disk has
   * @param ceiling durable ceiling of the HLC that the disk has
   * @param peers the peers that may know better
   * @param evidence of previous incarnations on this disk
   */
  constructor(clock: Timestamp, ceiling: Timestamp, peers: Iterable<RegionId>, evidence: RollbackEvidence = {}) {
    this.#unreported = new Set(peers);
    this.#peerCount = this.#unreported.size;
    this.#former = startsOf(evidence);
    this.#recorded = this.#former.length > 0;
    this.#start = { clock, ceiling, firstClock: NEVER, firstGroup: NEVER, recovered: [] };
  }

  /** Whether every peer has reported. */
  get verified(): boolean {
    return this.#unreported.size === 0;
  }

  /** How far the own version clock may be trusted before the disk is verified. */
  get trusted(): Timestamp {
    return (this.#former[0] ?? this.#start).clock;
  }

  /**
   * The evidence to record from now on: this start, when the incarnation on it has begun and is not verified.
   * Undefined: no change.
   */
  takeChanges(): RollbackEvidence | undefined {
    if (this.verified) {
      const recorded = this.#recorded;
      this.#recorded = false;
      return recorded ? {} : undefined;
    }
    const { firstClock, firstGroup } = this.#start;
    if (this.#kept || firstClock === NEVER) return undefined;
    this.#kept = true;
    this.#recorded = true;
    const sofar = { ...this.#start, firstGroup: Math.min(firstGroup, Math.max(firstClock, this.#begin)) };
    return evidenceOf([...this.#former, sofar].slice(-REMEMBERED));
  }

  /** The node runs; its clock begins at `clock`. */
  start(clock: Timestamp): void {
    this.#begin = clock;
  }

  /** The data have just been copied from the peers: the disk cannot be an older one. */
  copied(): this {
    this.#copied = true;
    return this;
  }

  /** The link to a peer's node came up or went down. */
  link(peer: RegionId, up: boolean, now: WallMs): void {
    if (!up) this.#linkedAt.delete(peer);
    else if (!this.#linkedAt.has(peer)) this.#linkedAt.set(peer, now);
    if (up) this.#firstLinkAt ??= now;
  }

  /** The peers whose reports on this disk are missing. */
  get missing(): readonly RegionId[] {
    return this.#copied ? [] : [...this.#unreported];
  }

  /**
   * Whether enough peers have reported for this replica to decide anything: one of them at least. The others are waited
   * for while they may be about to report: each for a short time after its link came up.
   */
  settled(now: WallMs): boolean {
    const { missing } = this;
    if (missing.length === 0) return true;
    if (missing.length === this.#peerCount) return false;
    const since = [this.#firstLinkAt, ...missing.map((peer) => this.#linkedAt.get(peer))];
    return since.every((at) => at === undefined || now >= at + GRACE_MS);
  }

  /** A peer never comes back: the others alone verify the disk. */
  excuse(peer: RegionId): void {
    if (this.#unreported.delete(peer)) this.#peerCount--;
  }

  /** A version clock of this incarnation. */
  published(clock: Timestamp): void {
    if (clock < this.#start.firstClock) this.#start = { ...this.#start, firstClock: clock };
  }

  /** A group that is applied in this incarnation. */
  applied(ct: Timestamp): void {
    if (this.verified) return;
    if (ct > this.#begin) {
      if (ct < this.#start.firstGroup) this.#start = { ...this.#start, firstGroup: ct };
    } else {
      this.#start.recovered.push(ct);
      this.#kept = false;
    }
  }

  /**
   * Whether a peer's report shows a loss: the version clock that it has received from here, and the highest group. Else
   * it verifies the disk, and its later reports are about this incarnation.
   */
  lost(peer: RegionId, clock: Timestamp, group: Timestamp): boolean {
    if (!this.#unreported.has(peer)) return false;
    const lost = [...this.#former, this.#start].some(
      (start) =>
        (clock > start.ceiling && clock < start.firstClock) ||
        (group > start.clock && group < start.firstGroup && !start.recovered.includes(group)),
    );
    if (!lost) this.#unreported.delete(peer);
    return lost;
  }
}

export const rolledBack = (why: string): IsochronError =>
  new IsochronError('REBUILD_NEEDED', `${why}: it was rolled back.`);

function evidenceOf(starts: readonly Start[]): RollbackEvidence {
  const entries = starts.flatMap((start, i) => [
    ...PARTS.map((part) => [`${i}.${part}`, start[part]] as const),
    ...start.recovered.map((ct, j) => [`${i}.recovered.${j}`, ct] as const),
  ]);
  return Object.fromEntries(entries);
}

function startsOf(evidence: RollbackEvidence): Start[] {
  const starts: Start[] = [];
  for (let i = 0; evidence[`${i}.clock`] !== undefined; i++) {
    const [clock, ceiling, firstClock, firstGroup] = PARTS.map((part) => evidence[`${i}.${part}`] ?? 0);
    const recovered: Timestamp[] = [];
    for (let ct = evidence[`${i}.recovered.0`]; ct !== undefined; ct = evidence[`${i}.recovered.${recovered.length}`])
      recovered.push(ct);
    starts.push({ clock: clock!, ceiling: ceiling!, firstClock: firstClock!, firstGroup: firstGroup!, recovered });
  }
  return starts;
}
