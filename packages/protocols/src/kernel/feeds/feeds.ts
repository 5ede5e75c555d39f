/**
 * The change feed of a node (CF1–CF6), and the changes of live queries (LQ1–LQ6): gives readers what has changed in
 * their scopes, in the total order, up to UST.
 *
 * A reader's cursor is its whole state: each request names the timestamp after which it reads, and has one answer. So
 * a cursor is valid on every node. The node keeps nothing for a reader of the feed that does not ask, and of a live
 * reader its scopes. The pages of the logs that answers are made of are shared by all readers of the node (`pages.ts`).
 *
 * Every page ends at or below UST, below which nothing is added or taken back (PU2, D10). The answer ends where the
 * first of its partitions' pages ends.
 */
import type { PartitionId, Timestamp, WallMs } from '@isochron/core';
import { type Address, dispatch, type Effects, type Handlers, type Input, type Machine } from '../../machine.js';
import type { Refused, TransactionMessage } from '../transactions/messages.js';
import { CollectedTransactions, NetContents } from './collected.js';
import { Deadlines } from './deadlines.js';
import { type Ends, FOLLOWING_LIMITS, Following, type FollowingLimits } from './following.js';
import { LogClient } from './log-client.js';
import { type FeedsState, LogServer } from './log-server.js';
import type { ChangesPageResp, ChangesReq, FeedMessage, LiveReq } from './messages.js';
import { Reader, type WaitingRequest } from './reader.js';
import { prefixScope } from './scope.js';

type Out = Effects<TransactionMessage>;

/** Readers at a time: requests of the feed, and live readers. */
const MAX_READERS = 50_000;

/** A request that does not wait for new changes may take this long to bring its reader up to the present ones, ms. */
const CATCH_UP_MS = 1_000;

/** A replica of the node, as its log is read. */
export interface LoggingReplica {
  readonly partition: PartitionId;
  readonly replication: { readonly changesFrom: Timestamp | undefined };
}

export class Feeds implements Machine<TransactionMessage> {
  readonly counters = { reads: 0, transactions: 0, gone: 0 };
  readonly following: Following;
  readonly #server: LogServer;
  readonly #client: LogClient;
  /** All readers: of the feed while their requests wait, and live ones. */
  readonly #readers = new Set<Reader>();
  /** Live readers by the names of their machines and their numbers there. */
  readonly #live = new Map<string, Reader>();
  readonly #deadlines = new Deadlines<Reader>();
  #waiting = 0;
  readonly #handlers: Handlers<FeedMessage, [now: WallMs, from: Address, out: Out]> = {
    ChangesReq: (message, now, from, out) => this.#onRequest(message, now, from, out),
    ChangesResp: () => {},
    ChangesPageReq: (message, _now, from, out) => this.#server.onRequest(message, from, out),
    ReadChanges: (message, _now, from, out) => {
      if (from.node === this.state.node) this.#server.onRead(message, out);
    },
    ChangesPageResp: (message, now, from, out) => this.#onPage(message, now, from, out),
    LiveReq: (message, now, from, out) => this.#onLive(message, now, from, out),
    LiveResp: () => {},
    LiveEnd: ({ reader }, _now, from, out) => this.#onEnd(nameOf(from, reader), out),
  };

  constructor(
    readonly state: FeedsState,
    replicas: readonly LoggingReplica[],
    limits: FollowingLimits = FOLLOWING_LIMITS,
  ) {
    const byPartition = new Map(replicas.map((replica) => [replica.partition, replica]));
    this.#server = new LogServer(state, (partition) => byPartition.get(partition)?.replication.changesFrom);
    this.#client = new LogClient(state);
    const ends: Ends = {
      answer: (reader, out) => this.#answer(reader, out),
      gone: (reader, truncatedUpTo, out) => this.#gone(reader, truncatedUpTo, out),
      tooFarBehind: (reader, out) => this.#refuse(reader, 'The reader is too far behind for the log', out),
    };
    this.following = new Following(state, this.#client, ends, limits);
  }

  /** Requests of readers that wait. */
  get size(): number {
    return this.#waiting;
  }

  step(input: Input<TransactionMessage>, out: Out): void {
    if (input.kind === 'message') dispatch(this.#handlers, input.message, input.now, input.from, out);
    else if (input.kind === 'link') this.#client.link(input.node, input.up);
    else if (input.kind === 'timer') this.#onTimer(input.now, out);
    this.#plan(input.now, out);
  }

  needs(message: TransactionMessage) {
    if (message.type !== 'ReadChanges') return undefined;
    const { partition, after, upTo } = message;
    return { kind: 'changes', partition, after, upTo } as const;
  }

  invariants(): void {}

  describe(): object {
    return {
      reads: this.size,
      live: this.#live.size,
      requests: this.#client.size,
      waiting: this.#server.waiting,
      counters: { ...this.counters, ...this.following.counters },
    };
  }

  #onRequest(request: ChangesReq, now: WallMs, address: Address, out: Out): void {
    const { topology, stable } = this.state;
    const { prefix, ref, after } = request;
    const keyspace = prefix.slice(0, Math.max(0, prefix.indexOf('/')));
    if (prefix !== '' && !topology.keyspaces.includes(keyspace)) {
      out.send(address, refusal(ref, 'KEYSPACE_UNKNOWN', `There is no keyspace of "${prefix}".`));
      return;
    }
    if (this.#isFull(ref, address, out)) return;
    this.counters.reads++;
    if (after === null) {
      out.send(address, { type: 'ChangesResp', ref, from: stable.value, to: stable.value, transactions: [] });
      return;
    }
    const reader = new Reader(address, false);
    this.#readers.add(reader);
    this.following.add(reader, 0, prefixScope(prefix), now, out);
    this.#begin(reader, { ...request, after }, now, out);
  }

  /** Only of this node: the numbers and limits of readers are checked where they are connected. */
  #onLive(request: LiveReq, now: WallMs, from: Address, out: Out): void {
    if (from.node !== this.state.node) return;
    const reader = this.#liveReader(request, from, out);
    if (reader === undefined) return;
    if (reader.request !== undefined) this.#answer(reader, out);
    this.counters.reads++;
    for (const number of request.remove) this.following.remove(reader, number);
    for (const { watch, ...scope } of request.add) {
      this.following.remove(reader, watch);
      this.following.add(reader, watch, scope, now, out);
    }
    this.#begin(reader, request, now, out);
  }

  #liveReader({ ref, reader: number }: LiveReq, from: Address, out: Out): Reader | undefined {
    const name = nameOf(from, number);
    const known = this.#live.get(name);
    if (known !== undefined || this.#isFull(ref, from, out)) return known;
    const reader = new Reader(from, true);
    this.#readers.add(reader);
    this.#live.set(name, reader);
    return reader;
  }

  #onEnd(name: string, out: Out): void {
    const reader = this.#live.get(name);
    if (reader === undefined) return;
    if (reader.request !== undefined) this.#answer(reader, out);
    this.#live.delete(name);
    this.#drop(reader);
  }

  #isFull(ref: number, address: Address, out: Out): boolean {
    if (this.#readers.size < MAX_READERS) return false;
    out.send(address, refusal(ref, 'OVERLOADED', 'Too many readers of changes wait on this node; ask another one.'));
    return true;
  }

  #begin(
    reader: Reader,
    { ref, after, waitMs, limitBytes }: Pick<LiveReq, 'ref' | 'after' | 'waitMs' | 'limitBytes'>,
    now: WallMs,
    out: Out,
  ): void {
    const collected = reader.isLive ? new NetContents() : new CollectedTransactions();
    const catchUpBy = now + Math.max(waitMs, CATCH_UP_MS);
    reader.begin({ ref, after, limitBytes, deadline: now + waitMs, catchUpBy, collected, examined: 0 });
    this.#waiting++;
    this.#deadlines.add(reader, waitMs > 0 ? now + waitMs : catchUpBy);
    this.following.look(reader, now, out);
  }

  #onPage(message: ChangesPageResp, now: WallMs, from: Address, out: Out): void {
    const outcome = this.#client.onPage(message, from, now, out);
    if (outcome === 'page') this.following.onPage(message, now, out);
    if (outcome === 'gone') this.following.onGone(message, this.#readers, now, out);
    this.following.run(now, out);
  }

  /** Ends a request with everything up to the reader's position. */
  #answer(reader: Reader, out: Out): void {
    const { ref, after, collected } = this.#end(reader);
    const to = reader.position;
    if (collected instanceof NetContents) {
      out.send(reader.address, { type: 'LiveResp', ref, to, changes: collected.changes });
      return;
    }
    const { transactions } = collected;
    this.counters.transactions += transactions.length;
    out.send(reader.address, { type: 'ChangesResp', ref, from: after, to, transactions });
  }

  /** The log begins above the reader's position. What was collected below is answered first. */
  #gone(reader: Reader, truncatedUpTo: Timestamp, out: Out): void {
    if (!reader.request!.collected.isEmpty) {
      this.#answer(reader, out);
      return;
    }
    this.#refuse(reader, `The log begins at ${truncatedUpTo}`, out);
  }

  #refuse(reader: Reader, why: string, out: Out): void {
    const { ref } = this.#end(reader);
    this.counters.gone++;
    const detail = `${why}; read the data anew, and follow from that snapshot.`;
    out.send(reader.address, refusal(ref, 'CHANGES_GONE', detail));
  }

  #end(reader: Reader): WaitingRequest {
    const request = reader.request!;
    this.following.ended(reader);
    this.#deadlines.delete(reader, request.deadline);
    this.#deadlines.delete(reader, request.catchUpBy);
    reader.end();
    this.#waiting--;
    if (!reader.isLive) this.#drop(reader);
    return request;
  }

  #drop(reader: Reader): void {
    this.#readers.delete(reader);
    this.following.drop(reader);
  }

  #onTimer(now: WallMs, out: Out): void {
    this.#server.round(out);
    for (const reader of this.#deadlines.due(now)) {
      if (reader.request === undefined) continue;
      if (now < reader.request.catchUpBy) this.#deadlines.add(reader, reader.request.catchUpBy);
      this.following.look(reader, now, out);
    }
    if (this.#readers.size === 0) this.#client.clear();
    this.#client.retry(now, out);
    this.following.timer(now, out);
  }

  #plan(now: WallMs, out: Out): void {
    const turn = this.following.nextTurn(now);
    if (turn !== undefined) out.setTimer('readers', turn);
    if (this.#server.waiting === 0 && this.#readers.size === 0) return;
    out.setTimer('round', this.state.activity.nextRound(now, this.state.settings.gossipIntervalMs));
  }
}

/** Name of a live reader: numbers are those of its machine. */
const nameOf = ({ machine }: Address, reader: number): string => `${machine}/${reader}`;

const refusal = (ref: number, code: Refused['code'], detail: string): Refused => ({
  type: 'Refused',
  ref,
  code,
  detail,
});
