/** Drives one session of transactions at random, and records its inputs and outcomes. */
import type { Random } from '@isochron/core';
import { TRANSACTION_PROTOCOLS, type TransactionName } from '@isochron/protocols';
import {
  Session,
  type SessionRules,
  type SessionState,
  SessionTransaction,
} from '@isochron/protocols/kernel/transactions/session';
import { type Choice, drawChoice, drawContent, drawId, drawKey, drawValue, Times } from '../drawing.js';
import type { Sequence, TransactionEvent } from '../format.js';
import {
  attempt,
  contentOut,
  overAbsent,
  readOut,
  snapshotOut,
  stateOut,
  valueOut,
  viewOut,
  writesOut,
} from '../outward.js';
import { World } from './world.js';

/** A transaction by its name within the sequence. */
type Named = readonly [string, SessionTransaction];

/** Undefined when the action is not possible now. */
type Action = () => TransactionEvent | undefined;

const MOST_OPEN = 4;

export class TransactionDriver {
  readonly #random: Random;
  readonly #times: Times;
  readonly #world: World;
  readonly #rules: SessionRules;
  #session: Session;
  #txs: Named[] = [];
  /** Ended ones, which a caller may still hold. */
  #ended: Named[] = [];
  /** The last recorded read of each transaction, by its name. */
  readonly #recorded = new Map<string, string>();
  #names = 0;
  #committing: string | undefined;

  private constructor(protocol: TransactionName, random: Random, id: string) {
    this.#random = random;
    this.#times = new Times(random);
    this.#world = new World(protocol, random, this.#times);
    this.#rules = TRANSACTION_PROTOCOLS[protocol].session;
    this.#session = new Session(id, this.#rules);
  }

  static sequence(protocol: TransactionName, name: string, random: Random): Sequence<TransactionEvent> {
    const id = drawId(random);
    const driver = new TransactionDriver(protocol, random, id);
    return { name, id, events: driver.#events(10 + random.below(50)) };
  }

  #events(count: number): TransactionEvent[] {
    const events: TransactionEvent[] = [];
    let before = JSON.stringify(stateOut(this.#session.export()));
    while (events.length < count) {
      this.#times.pass();
      this.#world.roam();
      const isFirst = events.length === 0 && this.#random.chance(0.6);
      const event = isFirst ? this.#import(this.#world.brought()) : drawChoice(this.#random, this.#actions)();
      if (event === undefined) continue;
      const state = stateOut(this.#session.export());
      const text = JSON.stringify(state);
      events.push(text === before ? event : { ...event, state });
      before = text;
    }
    return events;
  }

  readonly #actions: readonly Choice<Action>[] = [
    { weight: 12, of: () => this.#begin() },
    { weight: 1, of: () => this.#past() },
    { weight: 30, of: () => this.#started() },
    { weight: 18, of: () => this.#lookup() },
    { weight: 14, of: () => this.#record() },
    { weight: 18, of: () => this.#write() },
    { weight: 8, of: () => this.#overlay() },
    { weight: 3, of: () => this.#observe() },
    { weight: 3, of: () => this.#stable() },
    { weight: 34, of: () => this.#commit() },
    { weight: 26, of: () => this.#committed() },
    { weight: 2, of: () => this.#refused() },
    { weight: 4, of: () => this.#end() },
    { weight: 1, of: () => this.#ids() },
    { weight: 1, of: () => this.#import(this.#altered(this.#session.export())) },
    { weight: 2, of: () => this.#detach() },
  ];

  #begin(): TransactionEvent | undefined {
    if (this.#txs.length >= MOST_OPEN) return undefined;
    const tx = this.#session.begin();
    return { do: 'begin', tx: this.#named(tx), view: viewOut(tx) };
  }

  #past(): TransactionEvent {
    const at = this.#times.any();
    const tx = new SessionTransaction(this.#session.nextTxId(), { ts: at }, new Map());
    return { do: 'past', tx: this.#named(tx), at, view: viewOut(tx) };
  }

  #named(tx: SessionTransaction): string {
    const name = `t${this.#names++}`;
    this.#txs.push([name, tx]);
    return name;
  }

  #started(): TransactionEvent | undefined {
    const waiting = this.#txs.filter(([, tx]) => tx.snapshot === undefined);
    const [name, tx] = this.#pick(this.#random.chance(0.93) ? waiting : [...this.#txs, ...this.#ended]) ?? [];
    if (name === undefined || tx === undefined) return undefined;
    const snapshot = this.#random.chance(0.05) && tx.snapshot !== undefined ? this.#again(tx.snapshot) : this.#new(tx);
    const outcome = attempt(() => this.#session.started(tx, snapshot.ts, snapshot.deps));
    return { do: 'started', tx: name, snapshot: snapshotOut(snapshot), ...refusedOf(outcome), view: viewOut(tx) };
  }

  #new(tx: SessionTransaction) {
    return this.#world.assigned(tx.seen.ts);
  }

  /** The same timestamp once more, perhaps with other entries. */
  #again(ts: number) {
    return { ...this.#world.assigned(ts), ts };
  }

  #lookup(): TransactionEvent | undefined {
    const [name, tx] = this.#anyTx() ?? [];
    if (name === undefined || tx === undefined) return undefined;
    const known = this.#recorded.get(name);
    const key = known !== undefined && this.#random.chance(0.4) ? known : this.#key();
    const read = tx.lookup(key);
    return { do: 'lookup', tx: name, key, ...(read === undefined ? {} : { read: readOut(read) }) };
  }

  /** Sometimes before there is a snapshot, as an answer may come. */
  #record(): TransactionEvent | undefined {
    const waiting = this.#txs.filter(([, tx]) => tx.snapshot === undefined);
    const [name, tx] = (this.#random.chance(0.3) ? this.#pick(waiting) : this.#anyTx()) ?? [];
    if (name === undefined || tx === undefined) return undefined;
    const key = this.#key();
    this.#recorded.set(name, key);
    if (this.#random.chance(0.25)) return { do: 'record', tx: name, key, read: readOut(tx.record(key, null)) };
    const [ts, value] = [this.#times.any(), drawValue(this.#random)];
    const read = readOut(tx.record(key, { ts, txId: '', region: '', value }));
    return { do: 'record', tx: name, key, version: { ts, value: valueOut(value) }, read };
  }

  #write(): TransactionEvent | undefined {
    const [name, tx] = this.#anyHeld() ?? [];
    if (name === undefined || tx === undefined) return undefined;
    const [key, value] = [drawKey(this.#random), drawContent(this.#random)];
    tx.write(key, value);
    return { do: 'write', tx: name, key, value: contentOut(value), view: viewOut(tx) };
  }

  /** Often a key that the session has written: those are read from its cache, or no longer. */
  #key(): string {
    const cached = this.#session.export().cache.map(([key]) => key);
    return cached.length > 0 && this.#random.chance(0.6) ? this.#random.pick(cached) : drawKey(this.#random);
  }

  #overlay(): TransactionEvent | undefined {
    const [name, tx] = this.#anyTx() ?? [];
    if (name === undefined || tx === undefined) return undefined;
    const overlay = [...tx.overlay()].map(([key, own]) => ({ key, ...readOut(overAbsent(own)) }));
    return { do: 'overlay', tx: name, overlay };
  }

  #observe(): TransactionEvent {
    const snapshot = this.#world.sent();
    this.#session.observe(snapshot);
    return { do: 'observe', snapshot: snapshotOut(snapshot) };
  }

  #stable(): TransactionEvent {
    const ust = this.#world.stable();
    this.#session.stable(ust);
    return { do: 'stable', ust };
  }

  #commit(): TransactionEvent | undefined {
    if (this.#committing !== undefined && !this.#random.chance(0.1)) return undefined;
    const written = this.#txs.filter(([, tx]) => tx.hasWrites);
    const [name, tx] = (this.#random.chance(0.9) ? this.#pick(written) : this.#anyHeld()) ?? [];
    if (name === undefined || tx === undefined) return undefined;
    const outcome = attempt(() => this.#session.commit(tx));
    if ('refused' in outcome) return { do: 'commit', tx: name, ...outcome };
    this.#committing = name;
    const { deps, writes, ...attempted } = outcome.returned;
    const entries = deps === undefined ? {} : { deps };
    return { do: 'commit', tx: name, attempt: { ...attempted, ...entries, writes: writesOut(writes) } };
  }

  #committed(): TransactionEvent | undefined {
    if (this.#committing === undefined && !this.#random.chance(0.03)) return undefined;
    const snapshot = this.#world.committed();
    const outcome = attempt(() => this.#session.committed(snapshot.ts, snapshot.deps));
    this.#decided();
    return { do: 'committed', snapshot: snapshotOut(snapshot), ...refusedOf(outcome) };
  }

  #refused(): TransactionEvent | undefined {
    if (this.#committing === undefined && !this.#random.chance(0.1)) return undefined;
    const outcome = attempt(() => this.#session.refused());
    this.#decided();
    return { do: 'refused', ...refusedOf(outcome) };
  }

  #detach(): TransactionEvent | undefined {
    if (this.#committing === undefined && !this.#random.chance(0.1)) return undefined;
    const id = drawId(this.#random);
    const outcome = attempt(() => this.#session.detach(id));
    this.#decided();
    return { do: 'detach', id, ...refusedOf(outcome) };
  }

  #decided(): void {
    if (this.#committing !== undefined) this.#close(this.#committing);
    this.#committing = undefined;
  }

  #end(): TransactionEvent | undefined {
    const [name, tx] = this.#anyHeld() ?? [];
    if (name === undefined || tx === undefined) return undefined;
    this.#session.end(tx);
    this.#close(name);
    return { do: 'end', tx: name };
  }

  #ids(): TransactionEvent {
    const count = 1 + this.#random.below(50);
    for (let i = 1; i < count; i++) this.#session.nextTxId();
    return { do: 'ids', count, id: this.#session.nextTxId() };
  }

  #import(state: SessionState): TransactionEvent {
    const id = drawId(this.#random);
    this.#session = new Session(id, this.#rules, state);
    this.#txs = [];
    this.#ended = [];
    this.#committing = undefined;
    return { do: 'import', id, from: stateOut(state) };
  }

  /**
   * Sometimes a state that no session exports: out of order, with a key twice, with a time that was stable long before.
   */
  #altered(state: SessionState): SessionState {
    const { cache } = state;
    const last = cache.at(-1);
    return drawChoice<SessionState>(this.#random, [
      { weight: 6, of: state },
      { weight: 1, of: { ...state, cache: cache.toReversed() } },
      { weight: 1, of: last === undefined ? state : { ...state, cache: [last, ...cache.slice(0, -1), last] } },
      { weight: 1, of: { ...state, ...this.#stableTime() } },
    ]);
  }

  #stableTime(): Pick<SessionState, 'ust' | 'deps'> {
    const { ts, deps } = this.#world.sent();
    return { ust: ts, deps };
  }

  #close(name: string): void {
    const gone = this.#txs.find(([other]) => other === name);
    this.#txs = this.#txs.filter(([other]) => other !== name);
    if (gone !== undefined) this.#ended = [...this.#ended.slice(-2), gone];
  }

  /** An open transaction. */
  #anyTx(): Named | undefined {
    return this.#pick(this.#txs);
  }

  /** Sometimes an ended one. It is not read from: its view of the cache is defined only while it is open. */
  #anyHeld(): Named | undefined {
    return this.#pick(this.#ended.length > 0 && this.#random.chance(0.1) ? this.#ended : this.#txs);
  }

  #pick(txs: readonly Named[]): Named | undefined {
    return txs.length === 0 ? undefined : this.#random.pick(txs);
  }
}

const refusedOf = (outcome: ReturnType<typeof attempt>): Pick<TransactionEvent, 'refused'> =>
  'refused' in outcome ? { refused: outcome.refused } : {};
