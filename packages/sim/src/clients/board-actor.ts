/** A session with boards under access rules: carries out its plan, and reports every transaction that it writes. */
import type { AnyMessage, KeyWrite, QualifiedKey, Timestamp } from '@isochron/core';
import type { Board } from '../checks/access/permitted.js';
import type { BoardObservations } from '../checks/evidence/observations.js';
import { type Co, run } from '../engine/coroutine.js';
import type { BoardSessionPlan, BoardStepPlan, WritePlace } from '../plan/plan.js';
import type { Client, MachineSession } from './client.js';
import { RuledSession } from './ruled-session.js';
import { RequestFailed } from './session.js';
import type { MachineTransaction } from './transactions.js';

/** The shared state of all sessions with boards. */
export interface BoardWorld {
  readonly keyspace: string;
  readonly observer: BoardObservations;
  note(session: string, what: () => string): void;
}

/** How long an open transaction is open before it writes, ms. */
const OPEN_MS = 150;

export class BoardActor<M extends AnyMessage> {
  doing = 'connecting';
  #finished = false;
  #stopped = false;
  #written = 0;
  /** The stable time that the session had first. */
  #beginning: Timestamp = 0;
  /** Whether the outcome of a change of a board is open: boards are not changed again. */
  #isUncertain = false;
  readonly #ruled: RuledSession<M>;

  constructor(
    readonly plan: BoardSessionPlan,
    readonly client: Client<M>,
    readonly world: BoardWorld,
    readonly session: MachineSession<M>,
  ) {
    this.#ruled = new RuledSession(session, (what) => world.note(plan.name, what));
  }

  get name(): string {
    return this.plan.name;
  }

  get finished(): boolean {
    return this.#finished && !this.client.settling;
  }

  get awaitsOutcome(): boolean {
    return this.client.settling && (this.#finished || this.#ruled.isCommitting);
  }

  start(): void {
    const always = () => true;
    run(this.#work(), always, () => {
      this.#finished = true;
      this.doing = 'finished';
    });
  }

  /** Begins no new step. */
  stop(): void {
    this.#stopped = true;
  }

  *#work(): Co<void> {
    yield* this.client.connection();
    this.#beginning = this.session.ust;
    for (const step of this.plan.steps) {
      this.doing = 'thinking';
      yield* this.client.pause(step.thinkMs);
      if (this.#stopped) return;
      this.doing = step.f;
      try {
        yield* this.#step(step);
      } catch (error) {
        if (!(error instanceof RequestFailed)) throw error;
        this.world.note(this.name, () => `${step.f} fails: ${error.code}`);
        if (step.f === 'found' && error.code === 'PERMISSION_DENIED')
          this.world.observer.foundingRefused(this.name, this.#board(step.board));
      }
    }
  }

  *#step(step: BoardStepPlan): Co<void> {
    switch (step.f) {
      case 'found':
        return yield* this.#found(step.board, step.place);
      case 'admit':
        return yield* this.#change(step.board, (board) => admitted(board, step.writer));
      case 'dismiss':
        return yield* this.#change(step.board, (board) => dismissed(board, step.writer));
      case 'enter':
        return yield* this.#write(step.place, this.#entry(step.board));
      case 'bid':
        return yield* this.#write(step.place, { key: `${this.world.keyspace}/bids/${this.#newName()}`, value: '{}' });
      case 'move':
        this.client.moveTo(step.region);
        yield* this.client.pause(0);
    }
  }

  /** The board and its first entry, in one transaction. */
  *#found(name: string, place: WritePlace): Co<void> {
    const { principal: by } = this.plan;
    const board: Board = { by, writers: [by], dismissed: [] };
    yield* this.#write(place, { key: this.#board(name), value: JSON.stringify(board) }, this.#entry(name));
  }

  /** Changes a board, in a transaction that reads it: its owner has one session that does. */
  *#change(name: string, change: (board: Board) => Board | undefined): Co<void> {
    if (this.#isUncertain) return;
    const tx = this.#ruled.begin({ mode: 'transaction' });
    const board = yield* this.#ruled.read<Board>(tx, this.#board(name));
    const next = board?.by === this.plan.principal ? change(board) : undefined;
    if (next === undefined) return tx.end();
    const done = yield* this.#commit(tx, { key: this.#board(name), value: JSON.stringify(next) });
    this.#isUncertain ||= done === 'unknown';
  }

  *#write(place: WritePlace, ...writes: readonly KeyWrite[]): Co<void> {
    const isPast = place === 'past' && this.#beginning > 0;
    const tx = this.#ruled.begin({
      mode: place === 'one-shot' ? 'one-shot' : 'transaction',
      ...(isPast ? { at: { ts: this.#beginning } } : {}),
    });
    if (place !== 'one-shot') yield* this.#open(tx);
    if (place === 'open') yield* this.client.pause(OPEN_MS);
    yield* this.#commit(tx, ...writes);
  }

  *#open(tx: MachineTransaction): Co<void> {
    try {
      yield* this.session.call({ f: 'open', handle: tx.handle });
    } catch (error) {
      tx.end();
      throw error;
    }
  }

  *#commit(tx: MachineTransaction, ...writes: readonly KeyWrite[]): Co<'committed' | 'unknown'> {
    for (const { key, value } of writes) tx.write(key, value);
    this.world.observer.boardWrites(this.plan.principal, tx.id, writes);
    return yield* this.#ruled.commit(tx);
  }

  #board(name: string): QualifiedKey {
    return `${this.world.keyspace}/boards/${name}`;
  }

  #entry(board: string): KeyWrite {
    return { key: `${this.world.keyspace}/entries/${board}/${this.#newName()}`, value: '{}' };
  }

  #newName(): string {
    return `${this.name}-${this.#written++}`;
  }
}

function admitted(board: Board, writer: string): Board | undefined {
  if (board.writers.includes(writer) || board.dismissed.includes(writer)) return undefined;
  return { ...board, writers: [...board.writers, writer] };
}

function dismissed(board: Board, writer: string): Board | undefined {
  if (!board.writers.includes(writer)) return undefined;
  const writers = board.writers.filter((one) => one !== writer);
  return { ...board, writers, dismissed: [...board.dismissed, writer] };
}
