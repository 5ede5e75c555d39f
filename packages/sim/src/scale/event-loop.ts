/**
 * A node as a server with a queue. Its cores take what waits, turn by turn as an event loop does: everything that is there when a core
 * is free is one turn, takes the sum of what it costs, and what it causes leaves at its end. With several free cores each takes its
 * share of what waits; what leaves keeps the order of the turns, as a link between nodes keeps its own.
 */
import type { VirtualTime } from '../engine/virtual-time.js';
import { GROUPS, type Group } from './groups.js';

interface Turn {
  readonly endsAt: number;
}

export class EventLoop {
  /** Counts turns. */
  turn = 0;
  readonly #time: VirtualTime;
  readonly #cores: number;
  readonly #turnUs: number;
  #waiting: (() => void)[] = [];
  #starting = false;
  readonly #running = new Set<Turn>();
  /** Of the turn whose tasks run now. */
  #us = 0;
  #leaving: (() => void)[] = [];
  #lasts: (() => void)[] = [];
  #busyMs = 0;
  #leftAt = 0;
  readonly #usByGroup = new Map<Group, number>(GROUPS.map((group) => [group, 0]));

  /** @param turnUs what each turn costs, whatever it has to do */
  constructor(time: VirtualTime, cores: number, turnUs = 0) {
    this.#time = time;
    this.#cores = cores;
    this.#turnUs = turnUs;
  }

  /** Adds something to do. */
  submit(task: () => void): void {
    this.#waiting.push(task);
    this.#startSoon();
  }

  /** The turn takes that much longer. */
  charge(group: Group, us: number): void {
    this.#us += us;
    this.#usByGroup.set(group, this.#usByGroup.get(group)! + us);
  }

  /** Happens when the turn is over. */
  afterTurn(effect: () => void): void {
    this.#leaving.push(effect);
  }

  /** The last thing that the turn does. */
  lastInTurn(run: () => void): void {
    this.#lasts.push(run);
  }

  /** Time that its cores have worked so far, ms. */
  get busyMs(): number {
    const { now } = this.#time;
    let ms = this.#busyMs;
    for (const { endsAt } of this.#running) ms -= Math.max(0, endsAt - now);
    return ms;
  }

  /** CPU time by what it went to, µs; of turns that have begun. */
  get usByGroup(): ReadonlyMap<Group, number> {
    return this.#usByGroup;
  }

  /** What comes at the same moment is in the same turn. */
  #startSoon(): void {
    if (this.#starting || this.#running.size >= this.#cores) return;
    this.#starting = true;
    this.#time.after(0, () => {
      this.#starting = false;
      this.#startTurns();
    });
  }

  #startTurns(): void {
    while (this.#waiting.length > 0 && this.#running.size < this.#cores) {
      const share = Math.ceil(this.#waiting.length / (this.#cores - this.#running.size));
      const tasks = share === this.#waiting.length ? this.#waiting : this.#waiting.slice(0, share);
      this.#waiting = share === this.#waiting.length ? [] : this.#waiting.slice(share);
      this.#runTurn(tasks);
    }
  }

  #runTurn(tasks: readonly (() => void)[]): void {
    this.turn++;
    this.#us = 0;
    this.#leaving = [];
    this.charge('turns', this.#turnUs);
    for (const task of tasks) task();
    const lasts = this.#lasts;
    this.#lasts = [];
    for (const run of lasts) run();
    const ms = this.#us / 1000;
    const leaving = this.#leaving;
    const turn = { endsAt: this.#time.now + ms };
    this.#busyMs += ms;
    this.#running.add(turn);
    this.#leftAt = Math.max(this.#leftAt, turn.endsAt);
    this.#time.at(this.#leftAt, () => {
      for (const effect of leaving) effect();
    });
    this.#time.at(turn.endsAt, () => {
      this.#running.delete(turn);
      if (this.#waiting.length > 0) this.#startSoon();
    });
  }
}
