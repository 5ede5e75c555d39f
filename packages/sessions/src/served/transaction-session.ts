/** A connection's session under protocols with transactions. */
import { holderOf, type Principal, RecentMap, type Timestamp, type TxId, type WallMs } from '@isochron/core';
import type { SessionRules, Snapshot } from '@isochron/protocols';
import { REQUEST_FRAMES } from '@isochron/wire/session-frames/requests';
import { JudgedCoordinator, type JudgedSession } from '../access/judged-coordinator.js';
import type { PlacedCommit } from '../coordinator/outcomes.js';
import { OwnedCoordinator } from '../coordinator/owned-ids.js';
import type { Done } from '../coordinator/request-port.js';
import { depsField, NOTHING_SEEN, sameSnapshot } from '../snapshot.js';
import type { ListPlaces } from '../tokens/list-places.js';
import { CommitOrder } from './commit-order.js';
import { FEED_REQUESTS } from './feed-requests.js';
import type { RawFrame } from './frames.js';
import { Identity } from './identity.js';
import {
  checked,
  type Handlers,
  handlerOf,
  TRANSACTION_REQUESTS,
  type TransactionParts,
  type TransactionRequests,
} from './requests.js';
import type { Reply, ServedNode, ServedSession } from './served-session.js';
import { settle } from './settles.js';
import { Watches } from './watches.js';

const REQUESTS: Handlers<TransactionRequests> = {
  ...TRANSACTION_REQUESTS,
  ...FEED_REQUESTS,
  settle: checked(REQUEST_FRAMES.settle, settle),
};

/** How long a refused request waits for a snapshot with the session's own writes, ms. */
const OWN_WRITES_MS = 2_000;
/** The latest transactions of a session whose snapshots the session knows. */
const BEGAN = 64;

export class TransactionSession implements ServedSession, TransactionRequests, JudgedSession {
  sentUst: Timestamp = 0;
  readonly identity: Identity;
  readonly parts: TransactionParts;
  readonly commits = new CommitOrder();
  readonly watches: Watches;
  waiting = 0;
  client = '';
  /** The map of its last write, as far as the node knows. */
  knownMap = 0;
  readonly #rules: SessionRules;
  /** The snapshots of transactions that have begun. */
  readonly #began = new RecentMap<TxId, Snapshot>(BEGAN);
  #seen: Snapshot = NOTHING_SEEN;
  #hwt: Timestamp = 0;
  #token = '';

  constructor(
    readonly node: ServedNode,
    parts: TransactionParts,
  ) {
    this.identity = new Identity(node);
    this.#rules = parts.tokens.rules;
    const { access } = parts;
    const coordinator = new OwnedCoordinator(parts.coordinator, () => holderOf(this.principal));
    this.parts = {
      ...parts,
      coordinator: access === undefined ? coordinator : new JudgedCoordinator(coordinator, access, this),
    };
    this.watches = new Watches(this.parts.coordinator, () => node.serving.newReader());
  }

  /** The highest commit timestamp of its own writes. */
  get hwt(): Timestamp {
    return this.#hwt;
  }

  now(): WallMs {
    return this.node.now();
  }

  /** Waits until stable time has its own writes. */
  visible(ts: Timestamp, done: Done<Timestamp>): void {
    this.node.serving.visibleHere(this.client, ts, OWN_WRITES_MS, done);
  }

  get places(): ListPlaces {
    return this.parts.tokens.places;
  }

  get principal(): Principal {
    return this.identity.principal;
  }

  get seen(): Snapshot {
    return this.#seen;
  }

  begin(principal: Principal, client: string, token: string | undefined): void {
    this.identity.begin(principal);
    this.client = client;
    const { node } = this;
    const { tokens } = this.parts;
    if (token !== undefined) {
      const claims = tokens.decode(token, node.latest(), holderOf(principal));
      this.#seen = claims.seen;
      this.#hwt = claims.hwt;
      this.knownMap = claims.map ?? 0;
    } else this.knownMap = node.map();
    if (!this.#mayBeDeferred) this.#seen = this.#stable(this.#seen, node.ust());
    this.#token = this.#mint();
    this.sentUst = this.#stableSnapshots ? this.#seen.ts : node.ust();
  }

  greeting(): ReturnType<ServedSession['greeting']> {
    const seen = this.#seen;
    return {
      ust: seen.ts,
      ...depsField(seen),
      ...(this.#stableSnapshots ? {} : { stable: this.node.ust() }),
      hwt: this.#hwt > this.#rules.covers(seen) || this.#mayBeDeferred ? this.#hwt : 0,
      token: this.#token,
    };
  }

  /** Whether a map since that of its last write may have deferred the write (M10). */
  get #mayBeDeferred(): boolean {
    return this.node.cutsAfter(this.knownMap).some(({ horizon }) => this.#hwt > horizon);
  }

  serves(type: unknown): boolean {
    return handlerOf<TransactionRequests>(REQUESTS, type) !== undefined;
  }

  follows(type: unknown): boolean {
    return typeof type === 'string' && Object.hasOwn(FEED_REQUESTS, type);
  }

  serve(frame: RawFrame, id: number, reply: Reply): void {
    handlerOf<TransactionRequests>(REQUESTS, frame.type)!(frame, id, this, reply);
  }

  saw(snapshot: Snapshot): string | undefined {
    if (this.#stableSnapshots && snapshot.ts > this.sentUst) this.sentUst = snapshot.ts;
    return this.#renew(this.#rules.merge(this.#seen, snapshot), this.#hwt);
  }

  /** Up to `from` by the client's word alone; above it, pages of logs up to `to` were stable somewhere. */
  sawChanges(from: Timestamp, to: Timestamp): string | undefined {
    return to > from || to <= this.node.ust() ? this.saw({ ts: to }) : undefined;
  }

  end(): void {
    this.identity.end();
    this.watches.end();
  }

  sawStable(ust: Timestamp): string | undefined {
    if (ust > this.sentUst) this.sentUst = ust;
    return this.#renew(this.#stable(this.#seen, ust), this.#hwt);
  }

  began(txId: TxId, snapshot: Snapshot): string | undefined {
    this.#began.set(txId, snapshot);
    return this.saw(snapshot);
  }

  readBy(txId: TxId): Snapshot {
    return this.#began.get(txId) ?? NOTHING_SEEN;
  }

  committed(commit: PlacedCommit, sent: Snapshot): string | undefined {
    if (commit.ts > this.#hwt) this.knownMap = commit.map ?? this.node.map();
    return this.#renew(this.#rules.committed(this.#seen, commit, sent), Math.max(this.#hwt, commit.ts));
  }

  depending(snapshot: Snapshot): Snapshot {
    return this.#rules.depending?.(snapshot, this.#seen) ?? snapshot;
  }

  learn(token: string): string | undefined {
    const { seen, hwt, map = 0 } = this.parts.tokens.decode(token, this.node.latest(), holderOf(this.principal));
    if (hwt > this.#hwt) this.knownMap = map;
    return this.#renew(this.#rules.merge(this.#seen, seen), Math.max(this.#hwt, hwt));
  }

  /** Whether everything in a snapshot is stable. */
  get #stableSnapshots(): boolean {
    return this.node.protocol.capabilities.has('stable-snapshots');
  }

  #stable(seen: Snapshot, ust: Timestamp): Snapshot {
    return this.#rules.stable?.(seen, ust) ?? seen;
  }

  /** Raises what the session has seen and written. Returns its token when that has changed. */
  #renew(seen: Snapshot, hwt: Timestamp): string | undefined {
    if (hwt === this.#hwt && sameSnapshot(seen, this.#seen)) return undefined;
    this.#seen = seen;
    this.#hwt = hwt;
    const token = this.#mint();
    if (token === this.#token) return undefined;
    this.#token = token;
    return token;
  }

  /** While its last write may be deferred, its token names the map of that write: each node has to judge it (M10). */
  #mint(): string {
    const [seen, hwt] = [this.#seen, this.#hwt];
    const isOpen = hwt > this.#rules.covers(seen) && this.#mayBeDeferred;
    const map = isOpen ? this.knownMap : this.node.map();
    return this.parts.tokens.mintPlain(seen, hwt, holderOf(this.principal), map);
  }
}
