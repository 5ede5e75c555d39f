/**
 * The change feed of a node (CF1–CF6): gives its readers the transactions of a scope in the total order, up to UST.
 *
 * A reader's cursor is its whole state: each request names the timestamp after which it reads, and has one answer. So
 * the node keeps nothing for a reader that does not ask, and a cursor is valid on every node. The pages of the logs
 * that answers are made of are shared by all readers of the node (`pages.ts`).
 *
 * Every page ends at or below UST, below which nothing is added or taken back (PU2, D10). The answer ends where the
 * first of its partitions' pages ends.
 */
import { type PartitionId, type Timestamp, TransientMap, type WallMs } from '@isochron/core';
import { type Address, dispatch, type Effects, type Handlers, type Input, type Machine } from '../../machine.js';
import type { NodeState } from '../node-state.js';
import type { Refused, TransactionMessage } from '../transactions/messages.js';
import { join } from './join.js';
import { LogClient } from './log-client.js';
import { LogServer } from './log-server.js';
import type { ChangedTx, ChangesPageResp, ChangesReq, FeedMessage } from './messages.js';
import { type LogRangePage, Pages } from './pages.js';

type Out = Effects<TransactionMessage>;

/** Pages that are kept for readers, in estimated bytes. */
const CACHE_BYTES = 16 * 2 ** 20;
/** Requests of readers at a time. */
const MAX_READS = 10_000;

/** A replica of the node, as its log is read. */
export interface LoggingReplica {
  readonly partition: PartitionId;
  readonly replication: { readonly changesFrom: Timestamp | undefined };
}

interface Read {
  readonly request: ChangesReq;
  readonly reader: Address;
  readonly partitions: readonly PartitionId[];
  readonly deadline: WallMs;
  /** Everything in the scope from the request's `after` up to here is known to be empty. */
  after: Timestamp;
}

export class Feeds implements Machine<TransactionMessage> {
  readonly counters = { reads: 0, transactions: 0, gone: 0 };
  readonly #pages = new Pages(CACHE_BYTES);
  readonly #server: LogServer;
  readonly #client: LogClient;
  readonly #reads = new TransientMap<Read, true>();
  /** Each read that waits, at one of the partitions that it lacks a page of. */
  readonly #waiting = new Map<PartitionId, Set<Read>>();
  readonly #handlers: Handlers<FeedMessage, [now: WallMs, from: Address, out: Out]> = {
    ChangesReq: (message, now, from, out) => this.#onRequest(message, now, from, out),
    ChangesResp: () => {},
    ChangesPageReq: (message, _now, from, out) => this.#server.onRequest(message, from, out),
    ReadChanges: (message, _now, from, out) => {
      if (from.node === this.state.node) this.#server.onRead(message, out);
    },
    ChangesPageResp: (message, now, from, out) => this.#onPage(message, now, from, out),
  };

  constructor(
    readonly state: NodeState,
    replicas: readonly LoggingReplica[],
  ) {
    const byPartition = new Map(replicas.map((replica) => [replica.partition, replica]));
    this.#server = new LogServer(state, (partition) => byPartition.get(partition)?.replication.changesFrom);
    this.#client = new LogClient(state);
  }

  /** Requests of readers that wait. */
  get size(): number {
    return this.#reads.size;
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
    return { reads: this.size, requests: this.#client.size, waiting: this.#server.waiting, counters: this.counters };
  }

  #onRequest(request: ChangesReq, now: WallMs, reader: Address, out: Out): void {
    const { topology, stable } = this.state;
    const { prefix, ref } = request;
    const keyspace = prefix.slice(0, Math.max(0, prefix.indexOf('/')));
    if (prefix !== '' && !topology.keyspaces.includes(keyspace)) {
      out.send(reader, refusal(ref, 'KEYSPACE_UNKNOWN', `There is no keyspace of "${prefix}".`));
      return;
    }
    if (this.size >= MAX_READS) {
      out.send(reader, refusal(ref, 'OVERLOADED', 'Too many readers of changes wait on this node; ask another one.'));
      return;
    }
    this.counters.reads++;
    const after = request.after ?? stable.value;
    if (request.after === null) {
      out.send(reader, { type: 'ChangesResp', ref, from: after, to: after, transactions: [] });
      return;
    }
    const all = prefix === '' ? topology.partitions : topology.partitionsOf(keyspace);
    const read = { request, reader, partitions: all.map(({ id }) => id), deadline: now + request.waitMs, after };
    this.#reads.set(read, true);
    this.#advance(read, now, out);
  }

  #onPage(message: ChangesPageResp, now: WallMs, from: Address, out: Out): void {
    const { partition, after, truncatedUpTo } = message;
    const outcome = this.#client.onPage(message, from, now, out);
    if (outcome === 'none') return;
    if (outcome === 'page') this.#pages.add(message);
    const waiting = this.#waiting.get(partition) ?? new Set<Read>();
    this.#waiting.delete(partition);
    for (const read of waiting) {
      if (outcome === 'gone' && read.after === after) this.#gone(read, truncatedUpTo, out);
      else this.#advance(read, now, out);
    }
  }

  /** Answers a read if there is something for it; otherwise it waits for the pages that it lacks. */
  #advance(read: Read, now: WallMs, out: Out): void {
    const { prefix, limitBytes } = read.request;
    for (let pages = this.#pagesOf(read, now, out); pages !== undefined; pages = this.#pagesOf(read, now, out)) {
      const { to, transactions } = join(pages, read.after, prefix, limitBytes);
      read.after = to;
      if (transactions.length > 0) {
        this.#answer(read, transactions, out);
        return;
      }
    }
    if (now >= read.deadline) this.#answer(read, [], out);
  }

  /** A page of each partition; undefined, and the read waits, when one is missing. */
  #pagesOf(read: Read, now: WallMs, out: Out): LogRangePage[] | undefined {
    const pages: LogRangePage[] = [];
    let missing: PartitionId | undefined;
    for (const partition of read.partitions) {
      const page = this.#pages.find(partition, read.after);
      if (page !== undefined) pages.push(page);
      else {
        this.#client.ask(partition, read.after, now, out);
        missing = partition;
      }
    }
    if (missing === undefined) return pages;
    const waiting = this.#waiting.get(missing) ?? new Set();
    this.#waiting.set(missing, waiting.add(read));
    return undefined;
  }

  #answer(read: Read, transactions: readonly ChangedTx[], out: Out): void {
    const { ref, after } = read.request;
    this.#end(read);
    this.counters.transactions += transactions.length;
    out.send(read.reader, { type: 'ChangesResp', ref, from: after ?? read.after, to: read.after, transactions });
  }

  #gone(read: Read, truncatedUpTo: Timestamp, out: Out): void {
    this.#end(read);
    this.counters.gone++;
    const detail = `The log begins at ${truncatedUpTo}; read the data anew, and follow from that snapshot.`;
    out.send(read.reader, refusal(read.request.ref, 'CHANGES_GONE', detail));
  }

  #end(read: Read): void {
    this.#reads.delete(read);
    for (const waiting of this.#waiting.values()) waiting.delete(read);
  }

  #onTimer(now: WallMs, out: Out): void {
    this.#server.round(out);
    for (const [read] of [...this.#reads]) if (now >= read.deadline) this.#answer(read, [], out);
    if (this.size === 0) this.#client.clear();
    this.#client.retry(now, out);
  }

  #plan(now: WallMs, out: Out): void {
    if (this.#server.waiting === 0 && this.size === 0) return;
    out.setTimer('round', this.state.activity.nextRound(now, this.state.settings.gossipIntervalMs));
  }
}

const refusal = (ref: number, code: Refused['code'], detail: string): Refused => ({
  type: 'Refused',
  ref,
  code,
  detail,
});
