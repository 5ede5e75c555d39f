/**
 * A node as a server with a queue. Its cores take the waiting tasks, turn by turn as an event loop does: all tasks that
 * are there when a core is free are one turn, which takes the sum of their costs, and whose effects leave at its end.
 * With several free cores each takes its share of the tasks; effects leave in the order of the turns, as a link between
 * nodes keeps its order.
 */
import type { VirtualTime } from '@isochron/simulated-world/virtual-time';
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
  /** CPU time of the turn whose tasks run now. */
  #us = 0;
  #leaving: (() => void)[] = [];
  #lasts: (() => void)[] = [];
  #busyMs = 0;
  #leftAt = 0;
  readonly #usByGroup = new Map<Group, number>(GROUPS.map((group) => [group, 0]));

  /** @param turnUs the fixed cost of each turn */
  constructor(time: VirtualTime, cores: number, turnUs = 0) {
    this.#time = time;
    this.#cores = cores;
    this.#turnUs = turnUs;
  }

  /** Adds a task. */
  submit(task: () => void): void {
    this.#waiting.push(task);
    this.#startSoon();
  }

  /** Adds this much time to the turn. */
  charge(group: Group, us: number): void {
    this.#us += us;
    this.#usByGroup.set(group, this.#usByGroup.get(group)! + us);
  }

  /** The effect happens when the turn is over. */
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

  /** CPU time of the turns that have begun, by group, µs. */
  get usByGroup(): ReadonlyMap<Group, number> {
    return this.#usByGroup;
  }

  /** Tasks that come at the same moment are in the same turn. */
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
