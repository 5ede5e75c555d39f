/** A client that carries out its session's plan, transaction by transaction, and records its reads and writes. */
import {
  type Content,
  compareKeys,
  type KeyWrite,
  type NodeId,
  type QualifiedKey,
  type RegionId,
  type Timestamp,
  type TxId,
  Update,
} from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import { clientTxId } from '@isochron/sessions';
import type { VirtualTime } from '@isochron/simulated-world/virtual-time';
import { appending, listOf, textOf } from '../checks/evidence/documents.js';
import type { ClientObservations, ClientView, OwnWrite } from '../checks/evidence/observations.js';
import { type Co, run, waitFor } from '../engine/coroutine.js';
import type {
  BurstPlan,
  CommitPlan,
  InteractivePlan,
  ListPlan,
  LivePlan,
  SessionPlan,
  StepPlan,
  TransactionPlan,
  WritePlan,
} from '../plan/plan.js';
import { isSameSnapshot } from '../protocols/snapshot.js';
import type { LiveQueries } from './live.js';
import { type Histories, Recording } from './recorder.js';
import { type BeginOptions, type Carried, type ClientSession, type CommitResult, RequestFailed } from './session.js';

/** The shared state of all clients of a run. */
export interface ActorWorld {
  readonly histories: Histories;
  readonly observer: ClientObservations;
  /** Ids of transactions that wrote a key, in the order in which they began. */
  readonly commits: { readonly txId: TxId; readonly holder: string }[];
  /** Every key of the plan, in key order: those that a listing does not show are absent. */
  readonly keys: readonly QualifiedKey[];
  /** Starts clients without a past in every region, which read these keys. */
  newcomers(keys: readonly QualifiedKey[]): void;
  /** A note for people who follow a run. */
  note(session: string, what: () => string): void;
}

/** The client that an actor acts through. */
export interface ActorClient {
  readonly time: VirtualTime;
  readonly region: RegionId;
  /** Whether it still repeats a write whose outcome is unknown to it. */
  readonly settling: boolean;
  readonly live: Pick<LiveQueries, 'watch' | 'shown'>;
  /** Waits until the session that was opened last can begin transactions. */
  connection(): Co<void>;
  stable(ts: Timestamp, timeoutMs: number): Co<boolean>;
  pause(ms: number): Co<void>;
  moveTo(region: RegionId): void;
  /** Whether it finds a node now: not all nodes right after a move. */
  finds(node: NodeId): boolean;
  /** Loses all messages to its present connections. Returns a function that breaks them. */
  loseAnswers(): () => void;
  /** Closes the session that was opened last. */
  leave(): void;
  die(): void;
}

/** The snapshot of a session without a past. */
const BEFORE_ALL: Snapshot = { ts: 0 };
const NONE: ReadonlyMap<QualifiedKey, never> = new Map<QualifiedKey, never>();

export class Actor {
  readonly name: string;
  /** Its present activity, for reports about standstills. */
  doing = 'connecting';
  transactions = 0;
  /** Codes of requests that were refused for good, or not answered in time. */
  readonly refusals: string[] = [];
  #session: ClientSession;
  #generation = 0;
  #values = 0;
  #stopped = false;
  #dead = false;
  #finished = false;
  #beside = 0;
  #floor: Snapshot = BEFORE_ALL;
  /** Unfinished transactions, without those that stay open beside the session's order. */
  #current: readonly Recording[] = [];
  #own: ReadonlyMap<QualifiedKey, OwnWrite> = new Map();
  #inDoubt: ClientView['inDoubt'] = new Map();
  #lastCommit: { readonly txId: TxId; readonly ct: Timestamp; readonly keys: readonly QualifiedKey[] } | undefined;
  readonly #snapshots: Snapshot[] = [];

  constructor(
    readonly plan: SessionPlan,
    readonly client: ActorClient,
    readonly world: ActorWorld,
    readonly createSession: (id: string, carried: Carried) => ClientSession,
  ) {
    this.name = plan.name;
    this.#session = this.#open({});
  }

  /** Whether none of its requests is under way any more. */
  get finished(): boolean {
    return this.#dead || (this.#finished && this.#beside === 0 && !this.client.settling);
  }

  get awaitsOutcome(): boolean {
    return this.client.settling && (this.#finished || this.doing.startsWith('committing'));
  }

  /**
   * How many own writes the session keeps although the stable time has passed all versions. A session that has not
   * finished may: the transaction of an undecided commit is open, and so is a snapshot that the session still reads.
   */
  cachedAt(ust: Timestamp): number {
    if (this.#dead || !this.finished) return 0;
    this.#session.observe(ust);
    return this.#session.cached;
  }

  start(): void {
    run(
      this.#work(),
      () => !this.#dead,
      () => {
        this.#finished = true;
        this.doing = 'finished';
        if (this.plan.leaves) this.client.leave();
      },
    );
  }

  /** Starts no new transactions. */
  stop(): void {
    this.#stopped = true;
  }

  /** The process of the client ends; the outcome of its commit stays unknown. */
  die(): void {
    if (this.#dead) return;
    this.#dead = true;
    this.world.note(this.name, () => 'dies');
    this.client.die();
    this.abandon();
  }

  disconnect(): void {
    this.client.moveTo(this.client.region);
  }

  loseAnswers(): () => void {
    return this.client.loseAnswers();
  }

  /** Records the unfinished transactions. */
  abandon(): void {
    const those = this.#current;
    this.#current = [];
    for (const recording of those) this.#record(this.name, recording, recording.sent ? 'unknown' : 'aborted');
  }

  #open(state: Carried): ClientSession {
    const id = `${this.name}-${this.#generation++}`.padEnd(16, '_');
    return this.createSession(id, state);
  }

  *#work(): Co<void> {
    yield* this.client.connection();
    for (const plan of this.plan.transactions) {
      if (this.#stopped) return;
      this.doing = 'thinking';
      yield* this.client.pause(plan.thinkMs);
      if (this.#stopped) return;
      this.doing = plan.kind;
      try {
        yield* this.#transaction(plan);
      } catch (error) {
        if (!(error instanceof RequestFailed)) throw error;
        this.refusals.push(error.code);
        this.world.observer.failed(this.name, error.code);
        this.world.note(this.name, () => `${plan.kind} fails: ${error.code}`);
        // A session without its writes cannot go on: its application ends.
        if (error.code === 'SESSION_DEFERRED') this.die();
        for (const recording of this.#current) {
          if (error.collected) this.world.observer.collected(recording);
          recording.tx.end();
        }
        this.abandon();
      }
    }
  }

  *#transaction(plan: TransactionPlan): Co<void> {
    switch (plan.kind) {
      case 'interactive':
        return yield* this.#interactive(plan);
      case 'get': {
        const recording = this.#begin({ mode: 'one-shot' });
        yield* this.#read(recording, [plan.key]);
        return this.#ended(recording);
      }
      case 'read': {
        const recording = this.#begin({ mode: 'one-shot' });
        yield* this.#read(recording, plan.keys);
        return this.#ended(recording);
      }
      case 'list': {
        const recording = this.#begin({ mode: 'one-shot' });
        yield* this.#list(recording, plan.list);
        return this.#ended(recording);
      }
      case 'write': {
        const recording = this.#begin({ mode: 'one-shot' });
        for (const write of plan.writes) this.#write(recording, write);
        return yield* this.#commit(recording, plan.commit);
      }
      case 'burst':
        return yield* this.#burst(plan);
      case 'live':
        return this.#live(plan);
      case 'watch':
        return this.#watch(plan.keys, plan.reads, plan.pauseMs);
      case 'past':
        return yield* this.#past(plan.keys, plan.back);
      case 'status': {
        const { commits } = this.world;
        const commit = commits[commits.length - 1 - (plan.back % Math.max(1, commits.length))];
        if (commit === undefined) return;
        const { txId, holder } = commit;
        const askedMs = this.client.time.now;
        const { status, ts } = yield* this.#session.status(clientTxId(txId));
        this.world.note(this.name, () => `receives that ${txId} is ${status} (${ts})`);
        if (holder === this.#session.holder) return this.world.observer.status(txId, status, ts, askedMs);
        return this.world.observer.foreignStatus(this.name, txId, status);
      }
      case 'stable':
        return yield* this.#stable(plan.timeoutMs, plan.againMs);
      case 'move':
        this.client.moveTo(plan.region);
        if (!plan.anew) return;
        this.#session = this.#open(this.#session.export(plan.anew === 'token' ? 'token' : 'session'));
        return yield* this.client.connection();
    }
  }

  #begin(options: BeginOptions): Recording {
    const tx = this.#session.begin(options);
    this.transactions++;
    const { shown } = this.client.live;
    if (shown > this.#floor.ts) this.#floor = { ts: shown };
    const recording = new Recording(this.name, this.#generation, tx, this.#floor, this.#own, this.#inDoubt);
    if (options.mode !== 'snapshot') this.#current = [...this.#current, recording];
    this.world.observer.began(recording);
    this.world.note(this.name, () => `begins ${tx.id} (${options.mode})`);
    return recording;
  }

  *#interactive({ steps, end, commit }: InteractivePlan): Co<void> {
    const recording = this.#begin({ mode: 'transaction' });
    for (const step of steps) yield* this.#step(recording, step);
    if (end === 'commit' && recording.written.size > 0) return yield* this.#commit(recording, commit);
    recording.tx.end();
    this.#current = [];
    this.#record(this.name, recording, recording.written.size > 0 ? 'aborted' : 'committed');
  }

  *#step(recording: Recording, step: StepPlan): Co<void> {
    switch (step.f) {
      case 'read':
        return yield* this.#read(recording, step.keys);
      case 'write':
        return this.#write(recording, step);
      case 'list':
        return yield* this.#list(recording, step);
      case 'pause':
        return yield* this.client.pause(step.ms);
      case 'reconnect':
        return this.client.moveTo(step.region);
    }
  }

  *#read(recording: Recording, keys: readonly QualifiedKey[]): Co<void> {
    const seen = yield* recording.tx.read(keys);
    this.#snapshot(recording);
    for (const { key, value } of seen) {
      this.world.note(this.name, () => `reads ${key} = ${value} in ${recording.txId}`);
      recording.saw({ key, value });
      this.world.observer.read(recording, key, value);
    }
  }

  *#list(recording: Recording, { keyspace, start, limit }: ListPlan): Co<void> {
    const { seen, next } = yield* recording.tx.list(keyspace, start, limit);
    this.#snapshot(recording);
    const values = new Map(seen.map(({ key, value }) => [key, value]));
    for (const key of this.world.keys) {
      if (!key.startsWith(`${keyspace}/`) || compareKeys(key, start) < 0) continue;
      if (next !== null && compareKeys(key, next) >= 0) continue;
      const value = values.get(key) ?? null;
      recording.saw({ key, value });
      this.world.observer.read(recording, key, value);
    }
  }

  #write(recording: Recording, plan: WritePlan): void {
    const value = this.#content(plan);
    recording.tx.write(plan.key, value);
    recording.write(plan.key, value);
  }

  #content({ deletes, document }: WritePlan): Content {
    if (deletes) return null;
    const text = `${this.name}:${this.#values++}`;
    if (document === 'update') return appending(text);
    // The text of a JSON document, as SDKs write it.
    return document === 'put' ? listOf(text) : `"${text}"`;
  }

  *#commit(recording: Recording, plan: CommitPlan): Co<void> {
    this.#concluded(recording, yield* this.#send(recording, plan));
  }

  /** Writes that do not wait for one another. Their outcomes are recorded in the order of the calls. */
  *#burst({ writes, commit }: BurstPlan): Co<void> {
    const burst = writes.map((write) => {
      const recording = this.#begin({ mode: 'one-shot' });
      this.#write(recording, write);
      return recording;
    });
    const results = yield* waitFor<CommitResult[]>((resume) => {
      const ended: CommitResult[] = [];
      let left = burst.length;
      burst.forEach((recording, i) => {
        const befalls = i === 0 ? commit : { loses: null, duplicate: null };
        const done = (result: CommitResult): void => {
          ended[i] = result;
          left--;
          if (left === 0) resume(ended);
        };
        run(this.#send(recording, befalls), () => !this.#dead, done);
      });
    });
    for (const [i, recording] of burst.entries()) this.#concluded(recording, results[i]!);
  }

  *#send(recording: Recording, plan: CommitPlan): Co<CommitResult> {
    const { tx, writes } = recording;
    this.world.commits.push({ txId: recording.txId, holder: this.#session.holder });
    this.doing = `committing ${recording.txId}`;
    recording.sent = true;
    const text = () => writes.map(({ key, value }) => `${key}=${textOf(value)}`).join(' ');
    this.world.note(this.name, () => `commits ${recording.txId}: ${text()}`);
    const result = yield* tx.commit({
      duplicated: plan.duplicate !== null,
      sent: (resend, node) => {
        // The connection of a client that moves is about to break.
        const keepsIt = plan.loses === null && this.client.finds(node);
        this.world.observer.sent(recording.txId, keepsIt ? node : undefined, writes, this.name);
        this.#befall(plan, resend);
      },
    });
    // Some clients name a write when they send it.
    this.world.observer.settled(recording.txId);
    return result;
  }

  #concluded(recording: Recording, result: CommitResult): void {
    const { txId, writes } = recording;
    // At the end of a run the recording may be abandoned already: its outcome stays unknown to the history.
    if (!this.#current.includes(recording)) return;
    this.#current = this.#current.filter((other) => other !== recording);
    if (result.status === 'committed') {
      this.world.note(this.name, () => `receives that ${txId} is committed at ${result.ct}`);
      const { ct } = result;
      this.#own = new Map([
        ...this.#own,
        ...writes.map((write) => [write.key, this.#ownWrite(write, ct, txId)] as const),
      ]);
      this.#record(this.name, recording, 'committed');
      this.world.observer.acknowledged(txId, result.ct, writes, this.name);
      this.#lastCommit = { txId, ct: result.ct, keys: writes.map(({ key }) => key) };
      return;
    }
    this.refusals.push(result.code);
    this.world.observer.failed(this.name, result.code);
    this.world.note(this.name, () => `receives ${result.code} for ${txId}`);
    this.#record(this.name, recording, result.status);
    if (result.status === 'aborted') this.world.observer.refused(txId);
    else this.#leaveInDoubt(txId, writes);
  }

  #ownWrite({ key, value }: KeyWrite, ct: Timestamp, txId: TxId): OwnWrite {
    const before = value instanceof Update ? this.#own.get(key) : undefined;
    return { ct, txId, value, ...(before === undefined ? {} : { before }) };
  }

  /** Its client may learn the outcome later. */
  #leaveInDoubt(txId: TxId, writes: readonly KeyWrite[]): void {
    const inDoubt = new Map(this.#inDoubt);
    for (const { key, value } of writes) inDoubt.set(key, [...(inDoubt.get(key) ?? []), { txId, value }]);
    this.#inDoubt = inDoubt;
  }

  /** A write that was reported as served is seen by every client that begins now, in any region. */
  *#stable(timeoutMs: number, againMs: number): Co<void> {
    const commit = this.#lastCommit;
    if (commit === undefined) return;
    const { txId, ct, keys } = commit;
    if (!(yield* this.client.stable(ct, timeoutMs))) return;
    this.world.note(this.name, () => `receives that ${txId} of ${ct} is served everywhere`);
    this.world.observer.served(txId, ct, keys);
    const begin = () => {
      if (!this.#stopped && !this.#dead) this.world.newcomers(keys);
    };
    begin();
    this.client.time.after(againMs, begin);
  }

  /** Applies the plan's faults to a commit that was sent. */
  #befall({ loses, duplicate }: CommitPlan, resend: (region: string) => void): void {
    const { time } = this.client;
    if (duplicate !== null) time.after(duplicate.afterMs, () => resend(duplicate.region));
    if (loses === null) return;
    time.after(loses.afterMs, () => {
      if (!this.#dead) this.client.moveTo(loses.region);
    });
  }

  /** The session's later transactions read at least what it was shown (LQ5). */
  #live({ scopes, forMs }: LivePlan): void {
    const end = this.client.live.watch(scopes);
    if (forMs !== null) this.client.time.after(forMs, end);
  }

  /** A snapshot that stays open while the session goes on. Its reads stand beside the session's order. */
  #watch(keys: readonly QualifiedKey[], reads: number, pauseMs: number): void {
    const recording = this.#begin({ mode: 'snapshot' });
    this.#beside++;
    const name = `${this.name}~${recording.txId}`;
    const ended = () => {
      this.#beside--;
      recording.tx.end();
      this.#record(name, recording, 'committed');
    };
    run(this.#rereads(recording, keys, reads, pauseMs), () => !this.#dead, ended);
  }

  *#rereads(recording: Recording, keys: readonly QualifiedKey[], reads: number, pauseMs: number): Co<void> {
    try {
      for (let i = 0; i < reads; i++) {
        // Another key each time, so that not all of them come from earlier reads.
        yield* this.#read(recording, keys.slice(0, 1 + (i % keys.length)));
        yield* this.client.pause(pauseMs);
        if (this.#stopped) return;
      }
    } catch (error) {
      if (!(error instanceof RequestFailed)) throw error;
      if (error.collected) this.world.observer.collected(recording);
      this.world.note(this.name, () => `the snapshot ${recording.txId} fails: ${error.code}`);
    }
  }

  *#past(keys: readonly QualifiedKey[], back: number): Co<void> {
    const at = this.#snapshots[this.#snapshots.length - 1 - back];
    if (at === undefined) return;
    const tx = this.#session.begin({ mode: 'one-shot', at });
    const recording = new Recording(this.name, this.#generation, tx, BEFORE_ALL, NONE, NONE);
    for (const { key, value } of yield* tx.read(keys)) {
      recording.saw({ key, value });
      this.world.observer.read(recording, key, value);
    }
    this.#record(`${this.name}~${tx.id}`, recording, 'committed');
  }

  /** A transaction has its snapshot now. */
  #snapshot(recording: Recording): void {
    const { snapshot } = recording;
    const before = this.#snapshots.at(-1) ?? BEFORE_ALL;
    if (snapshot === undefined || isSameSnapshot(before, snapshot)) return;
    this.world.observer.snapshot(recording, snapshot);
    this.#snapshots.push(snapshot);
    // The successor of an exported session does not have the snapshots of transactions that stayed open in it.
    if (recording.generation === this.#generation && snapshot.ts > this.#floor.ts) this.#floor = snapshot;
  }

  #ended(recording: Recording): void {
    recording.tx.end();
    this.#current = [];
    this.#record(this.name, recording, 'committed');
  }

  #record(session: string, recording: Recording, status: 'committed' | 'aborted' | 'unknown'): void {
    if (recording.ops.length > 0) this.world.histories.add(session, recording, status);
  }
}
