/**
 * The node that a client is connected to. It passes operations on to the replicas of its region, repeats its questions
 * until they answer, and drives read-only transactions (`rots.ts`).
 *
 * Before a session's first operation here, it waits, within a bound, for all that the session has seen in another
 * region (D9): the papers' clients never move.
 */
import { type Deps, IsochronError, type RegionId, type Timestamp, type WallMs } from '@isochron/core';
import { type Address, dispatch, type Effects, type Handlers, type Input, type Machine } from '../../machine.js';
import { Addresses, type NodeState } from '../node-state.js';
import { unremembered } from '../transactions/refusals.js';
import { Waiting } from '../waiting.js';
import { Asks, type Requester } from './asks.js';
import type {
  GetReq,
  GetSliceResp,
  OperationMessage,
  OperationRequest,
  PutReq,
  PutSliceResp,
  RotReq,
  RotSliceResp,
  SettleResp,
  SnapResp,
} from './messages.js';
import type { OperationRules } from './protocol.js';
import { Rots } from './rots.js';
import { decides, type Settled, Settlements } from './settlements.js';
import { shown } from './versions.js';

type Out = Effects<OperationMessage>;
type RefusedMessage = Extract<OperationMessage, { type: 'Refused' }>;
type CoordinatorMessage =
  | OperationRequest
  | GetSliceResp
  | PutSliceResp
  | SettleResp
  | SnapResp
  | RotSliceResp
  | RefusedMessage;

/** A client's request that waits until this region has all that its session has seen elsewhere. */
interface Arrival {
  readonly request: OperationRequest;
  readonly from: Address;
}

/** How often the coordinator looks for unanswered questions. */
const SWEEP_INTERVAL_MS = 50;
/** How often waits for a stable time, which another machine raises, are looked at. */
const LOOK_INTERVAL_MS = 1;

const UNREACHABLE = {
  code: 'REPLICA_UNREACHABLE',
  detail: 'The replica of the key did not answer; try again.',
} as const;
const PENDING = {
  code: 'OUTCOME_PENDING',
  detail: 'The replica of the key has not reported whether the write happened; send it again.',
} as const;

export class OperationCoordinator implements Machine<OperationMessage> {
  readonly counters = { gets: 0, puts: 0, refused: 0 };
  readonly rots: Rots;
  readonly arrivals = new Waiting<Arrival>('arrivals');
  readonly #asks: Asks;
  readonly #addresses: Addresses;
  readonly #settlements = new Settlements();
  #looksAt: WallMs = Number.POSITIVE_INFINITY;

  readonly #handlers: Handlers<CoordinatorMessage, [now: WallMs, from: Address, out: Out]> = {
    GetReq: (message, now, from, out) => this.#onRequest(message, now, from, null, out),
    PutReq: (message, now, from, out) => this.#onRequest(message, now, from, null, out),
    RotReq: (message, now, from, out) => this.#onRequest(message, now, from, null, out),
    GetSliceResp: (message, now, from, out) => this.#asks.take(message, from, now, out),
    PutSliceResp: (message, now, from, out) => this.#asks.take(message, from, now, out),
    SettleResp: (message, now, from, out) => this.#asks.take(message, from, now, out),
    SnapResp: (message, now, from, out) => this.#asks.take(message, from, now, out),
    RotSliceResp: (message, now, from, out) => this.#asks.take(message, from, now, out),
    Refused: ({ ref, code, detail }, now, from, out) => this.#asks.refuse(ref, code, detail, from, now, out),
  };

  constructor(
    readonly state: NodeState,
    readonly rules: OperationRules,
    /** Whether the protocol has read-only transactions. */
    readonly hasRots: boolean,
  ) {
    this.#addresses = new Addresses(state.maps);
    this.#asks = new Asks(state.clock, state.settings.readTimeoutMs);
    this.rots = new Rots(state, rules, this.#addresses, this.#asks);
  }

  /** Number of open questions to replicas. */
  get asked(): number {
    return this.#asks.size;
  }

  /** The oldest snapshot that this node's ROTs use (P9). */
  get sOld(): Timestamp {
    return Math.min(this.rots.oldest() ?? this.state.stable.value, this.state.stable.value);
  }

  step(input: Input<OperationMessage>, out: Out): void {
    switch (input.kind) {
      case 'message': {
        dispatch(this.#handlers, input.message, input.now, input.from, out);
        break;
      }
      case 'timer':
        if (input.timer === 'look') this.#looksAt = Number.POSITIVE_INFINITY;
        else {
          this.#asks.sweep(input.now, out);
          out.setTimer('sweep', input.now + SWEEP_INTERVAL_MS);
        }
        this.#look(input.now, out);
        break;
      case 'link':
        if (input.up) this.#asks.reachable(input.node, input.now, out);
        break;
      case 'persisted':
        return;
    }
    this.#lookAgain(input.now, out);
  }

  invariants(): void {}

  describe(): object {
    return {
      asked: this.#asks.size,
      rotsInFlight: this.rots.size,
      waiting: this.rots.waiting.size + this.arrivals.size,
      counters: {
        ...this.counters,
        ...this.#asks.counters,
        ...this.rots.counters,
        blockedRots: this.rots.waiting.counters.blocked,
        blockedMs: this.rots.waiting.counters.blockedMs,
        longestBlockMs: this.rots.waiting.counters.longestBlockMs,
        arrivals: this.arrivals.counters.blocked,
        arrivalMs: this.arrivals.counters.blockedMs,
      },
    };
  }

  /** @param since when the wait for data seen elsewhere began; null before */
  #onRequest(request: OperationRequest, now: WallMs, from: Address, since: WallMs | null, out: Out): void {
    const { ref } = request;
    try {
      const seen = this.#arrived(request, this.#checked(request, now));
      if (seen === undefined) {
        this.arrivals.add(`${from.node}/${from.machine}/${ref}`, { request, from }, since ?? now, 'later', out);
        this.state.activity.wake(now, out);
        return;
      }
      if (since !== null) this.arrivals.ended(since, now);
      const requester = { from, ref };
      if (request.type === 'GetReq') this.#get(request, seen, requester, now, out);
      else if (request.type === 'PutReq') this.#put(request, seen, requester, now, out);
      else this.#rot(request, seen, requester, now, out);
    } catch (error) {
      if (!(error instanceof IsochronError)) throw error;
      this.#refuse({ from, ref }, error, out);
    }
  }

  /** @throws IsochronError NOT_READY, INVALID_REQUEST, TIMESTAMP_IN_FUTURE, NOT_SUPPORTED_BY_PROTOCOL */
  #checked(request: OperationRequest, now: WallMs): Deps {
    if (request.type === 'RotReq' && !this.hasRots) {
      throw new IsochronError('NOT_SUPPORTED_BY_PROTOCOL', 'This protocol has no read-only transactions.');
    }
    const { membership, stable, clock, settings, topology } = this.state;
    // After a loss, the node serves snapshots above it only.
    if (!membership.joined || stable.value < membership.incarnation) {
      throw new IsochronError('NOT_READY', 'This node is fetching its data from its peers; use another one meanwhile.');
    }
    const { entries } = this.rules;
    const seen = request.seen.length === 0 ? new Array<Timestamp>(entries.seen).fill(0) : request.seen;
    if (!(this.rules.fits?.(seen) ?? seen.length === entries.seen)) {
      throw new IsochronError('INVALID_REQUEST', 'No session can have seen this under this protocol.');
    }
    if (this.rules.sensible?.(request) === false) {
      throw new IsochronError(
        'INVALID_REQUEST',
        "The session's dependencies, or its id, are invalid under this protocol.",
      );
    }
    if (!topology.regions.includes(request.region)) {
      throw new IsochronError('INVALID_REQUEST', `There is no region "${request.region}".`);
    }
    const sentAfter = request.type === 'PutReq' ? request.sentAfter : 0;
    if (Math.max(this.rules.newest(seen), sentAfter) > clock.latest(now, settings.maxClockDriftMs / 2)) {
      throw new IsochronError(
        'TIMESTAMP_IN_FUTURE',
        'The session has seen a timestamp from the future; start a new one.',
      );
    }
    return seen;
  }

  /** What the session has seen, once the operation's region has it. */
  #arrived(request: OperationRequest, seen: Deps): Deps | undefined {
    const goesTo = request.type === 'PutReq' ? request.attemptRegions.at(-1) : this.state.region;
    return request.region === goesTo ? seen : this.rules.arrive(seen, request.region);
  }

  #get({ key, ref }: GetReq, seen: Deps, requester: Requester, now: WallMs, out: Out): void {
    const { topology, region, settings, stable } = this.state;
    const partition = topology.partitionOf(key);
    const asks = this.rules.narrow?.(seen, partition) ?? seen;
    this.counters.gets++;
    this.#asks.ask(
      {
        requester,
        to: this.#addresses.replica(partition, region),
        request: (r) => ({ type: 'GetSliceReq', ref: r, partition, key, seen: asks }),
        answer: 'GetSliceResp',
        taken: ({ version, seen: sees }, _at, later) => {
          const depends = this.rules.named?.saw([key], [version]);
          const answer = { type: 'GetResp', ref, version: shown(version), seen: sees, ust: stable.value } as const;
          later.send(requester.from, depends === undefined ? answer : { ...answer, depends });
        },
        until: now + settings.readDeadlineMs,
        late: UNREACHABLE,
      },
      now,
      out,
    );
  }

  #rot({ keys, id }: RotReq, seen: Deps, requester: Requester, now: WallMs, out: Out): void {
    this.rots.begin(requester, { keys, id, seen }, now, out);
  }

  /** A PUT goes to the replica of the region, once every attempt at another one is known to have failed (D4). */
  #put(request: PutReq, seen: Deps, requester: Requester, now: WallMs, out: Out): void {
    const { attemptRegions, region } = request;
    const home = attemptRegions.at(-1);
    const { topology } = this.state;
    if (home === undefined || !attemptRegions.every((other) => topology.regions.includes(other))) {
      throw new IsochronError('INVALID_REQUEST', 'A write names the regions that it was tried in.');
    }
    // A retry may come through any region. But only this region, or the one named by the session, is known to have the
    // PUT's dependencies.
    if (home !== this.state.region && home !== region) {
      throw new IsochronError('INVALID_REQUEST', `Send the write to ${home}, or name ${this.state.region}.`);
    }
    this.counters.puts++;
    this.#settle(request, seen, requester, now + this.state.settings.commitTimeoutMs, now, out);
  }

  /**
   * Sends SettleReq to the replica of every earlier home at once, each with its latest attempt, which settles the
   * attempts before it there as well. The write begins when all of them are aborted; a commit at any home is the
   * outcome.
   */
  #settle(request: PutReq, seen: Deps, requester: Requester, until: WallMs, now: WallMs, out: Out): void {
    const { attemptRegions, txId, key, sentAfter } = request;
    const partition = this.state.topology.partitionOf(key);
    const earlier = new Map(attemptRegions.slice(0, -1).map((home, attempt) => [home, attempt]));
    const known = earlier.size === 0 ? new Map<RegionId, Settled>() : this.#settlements.of(partition, txId);
    const undecided = () => [...earlier].filter(([home, attempt]) => !decides(known.get(home), attempt));
    const decide = (at: WallMs, later: Out): boolean => {
      const found = [...earlier.keys()].map((home) => ({ home, ...known.get(home) }));
      const committed = found.find(({ state }) => state === 'committed');
      if (committed !== undefined) {
        this.#asks.end(requester);
        this.#written(request, seen, committed.ts!, committed.home, requester, later);
      } else if (undecided().length > 0) return false;
      else if (found.some(({ state }) => state === 'lost'))
        this.#refuse(requester, lost(sentAfter, at, this.state), later);
      else this.#write(request, seen, requester, until, at, later);
      return true;
    };
    if (decide(now, out)) return;
    for (const [home, attempt] of undecided()) {
      const add = ({ state, ts }: SettleResp) => {
        if (!decides(known.get(home), attempt)) known.set(home, { state, ts, attempt });
      };
      this.#asks.ask(
        {
          requester,
          to: this.#addresses.replica(partition, home),
          request: (ref) => ({ type: 'SettleReq', ref, partition, txId, attempt, sentAfter }),
          answer: 'SettleResp',
          taken: (answer, at, later) => {
            add(answer);
            decide(at, later);
          },
          takenLate: add,
          until,
          late: PENDING,
        },
        now,
        out,
      );
    }
  }

  #write(request: PutReq, seen: Deps, requester: Requester, until: WallMs, now: WallMs, out: Out): void {
    const { attemptRegions, txId, key, value, sentAfter, principal, depends } = request;
    const partition = this.state.topology.partitionOf(key);
    const home = attemptRegions.at(-1)!;
    const attempt = attemptRegions.length - 1;
    this.#asks.ask(
      {
        requester,
        to: this.#addresses.replica(partition, home),
        request: (ref) => ({
          type: 'PutSliceReq',
          ref,
          partition,
          txId,
          attempt,
          sentAfter,
          principal,
          key,
          value,
          seen,
          ...(depends && { depends }),
        }),
        answer: 'PutSliceResp',
        taken: ({ ts }, _at, later) => this.#written(request, seen, ts, home, requester, later),
        until,
        late: PENDING,
      },
      now,
      out,
    );
  }

  #written(request: PutReq, seen: Deps, ts: Timestamp, home: string, { from, ref }: Requester, out: Out): void {
    const partition = this.state.topology.partitionOf(request.key);
    const depends = this.rules.named?.wrote(request.key, ts, home);
    out.send(from, {
      type: 'PutResp',
      ref,
      txId: request.txId,
      ts,
      seen: this.rules.wrote(seen, ts, home, partition),
      region: home,
      ust: this.state.stable.value,
      ...(depends && { depends }),
    });
  }

  #refuse({ from, ref }: Requester, { code, message: detail }: IsochronError, out: Out): void {
    this.counters.refused++;
    out.send(from, { type: 'Refused', ref, code, detail });
  }

  #look(now: WallMs, out: Out): void {
    const { snapshotWaitMs } = this.state.settings;
    const arrived: { item: Arrival; since: WallMs }[] = [];
    this.arrivals.release(
      ({ request }) => (this.rules.arrive(request.seen, request.region) === undefined ? 'later' : undefined),
      (item, since) => arrived.push({ item, since }),
      out,
    );
    for (const { item, since } of arrived) this.#onRequest(item.request, now, item.from, since, out);
    for (const { request, from } of this.arrivals.expired(now, snapshotWaitMs)) {
      this.#refuse({ from, ref: request.ref }, NOT_ARRIVED, out);
    }
    this.rots.sweep(now, out);
  }

  #lookAgain(now: WallMs, out: Out): void {
    const waiting = this.arrivals.size + this.rots.waiting.size > 0;
    if (!waiting || this.#looksAt <= now + LOOK_INTERVAL_MS) return;
    this.#looksAt = now + LOOK_INTERVAL_MS;
    out.setTimer('look', this.#looksAt);
  }
}

function lost(sentAfter: Timestamp, now: WallMs, state: NodeState): IsochronError {
  const { code, detail } = unremembered(sentAfter, now, state);
  return new IsochronError(code, detail);
}
const NOT_ARRIVED = new IsochronError(
  'SNAPSHOT_UNAVAILABLE',
  'The versions that the session has seen in another region are not here yet; try again.',
);
