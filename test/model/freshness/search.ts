/** Searches for schedules that break a promise: drawn schedules, and the neighbours of a fair schedule. */
import { Random } from '@isochron/core/random';
import { Model } from './model.js';
import type { Shape } from './state.js';
import { Violation } from './world.js';

export type Schedule = readonly string[];

/** A schedule that breaks a promise. */
export interface Finding {
  readonly promise: string;
  readonly message: string;
  readonly schedule: Schedule;
}

/** How often actions are drawn: deliveries and rounds often, faults seldom. */
const WEIGHTS: Readonly<Record<string, number>> = {
  deliver: 8,
  round: 2.5,
  crash: 0.12,
  start: 0.5,
  cut: 0.15,
  heal: 0.12,
  adopt: 3,
  suspend: 0.5,
  return: 0.8,
  unseal: 0.3,
  beginReturn: 1.5,
  goOn: 2.5,
  resolve: 0.4,
  move: 0.25,
  read: 1,
  giveUp: 0.1,
  write: 1,
  repeat: 0.8,
};
/** A run multiplies the weight of each kind of action by one of these: the runs differ in their habits. */
const HABITS = [0.2, 1, 1, 3];

/** A run of drawn actions and a fair end. */
export function drawnRun(seed: number, steps: number, shape: Shape, nodes = 3): { model: Model; finding?: Finding } {
  const random = new Random(seed);
  const model = new Model(shape, nodes);
  const weights = Object.fromEntries(
    Object.entries(WEIGHTS).map(([name, weight]) => [name, weight * random.pick(HABITS)]),
  );
  const schedule: string[] = [];
  const finding = violationOf(schedule, () => {
    for (let step = 0; step < steps; step++) {
      const action = whole(weighted(model.enabled(), weights, random), model, random);
      schedule.push(action);
      model.apply(action);
    }
    model.end();
  });
  return finding === undefined ? { model } : { model, finding };
}

/** Runs a schedule and a fair end. */
export function replay(schedule: Schedule, shape: Shape, nodes = 3): Finding | undefined {
  const model = new Model(shape, nodes);
  return violationOf(schedule, () => {
    for (const action of schedule) model.apply(action);
    model.end();
  });
}

/** A schedule with the same broken promise from which no action can be left out. */
export function shrunk({ promise, schedule }: Finding, shape: Shape, nodes = 3): Finding {
  let current = schedule;
  const without = (from: number, size: number) => [...current.slice(0, from), ...current.slice(from + size)];
  const fails = (candidate: Schedule) => replay(candidate, shape, nodes)?.promise === promise;
  for (let size = Math.ceil(current.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let changed = true; changed; ) {
      changed = false;
      for (let from = 0; from < current.length; ) {
        const candidate = without(from, size);
        if (fails(candidate)) {
          current = candidate;
          changed = size === 1;
        } else from += size;
      }
    }
  }
  return replay(current, shape, nodes)!;
}

/**
 * A schedule written by hand: `...` delivers all messages, `rounds` is a round of every node, each delivered, and
 * `adopt` lets every node adopt. Returns the single actions that could happen.
 */
export function scheduleOf(script: readonly string[], shape: Shape, nodes = 3): Schedule {
  const model = new Model(shape, nodes);
  const schedule: string[] = [];
  const act = (action: string): void => {
    if (model.apply(action)) schedule.push(action);
  };
  const deliverAll = (): void => {
    for (let left = 400; left > 0; left--) {
      const next = model.enabled().find((action) => action.startsWith('deliver '));
      if (next === undefined) return;
      act(next);
    }
  };
  const ids = model.world.nodes.map(({ id }) => id);
  for (const line of script) {
    if (line === '...') deliverAll();
    else if (line === 'rounds') {
      for (const id of ids) act(`round ${id}`);
      deliverAll();
    } else if (line === 'adopt') for (const id of ids) act(`adopt ${id}`);
    else act(line);
  }
  return schedule;
}

/** Every schedule that differs from a given schedule at one place: an action more, an action less, or an early end. */
export function* neighbours(schedule: Schedule, actions: readonly string[]): Generator<Schedule> {
  for (let at = 0; at <= schedule.length; at++) {
    for (const action of actions) yield [...schedule.slice(0, at), action, ...schedule.slice(at)];
    if (at === schedule.length) return;
    yield [...schedule.slice(0, at), ...schedule.slice(at + 1)];
    yield schedule.slice(0, at);
  }
}

function violationOf(schedule: Schedule, run: () => void): Finding | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    return { promise: error.promise, message: error.message, schedule };
  }
}

const nameOf = (action: string): string => action.slice(0, action.indexOf(' '));

function weighted(actions: readonly string[], weights: Readonly<Record<string, number>>, random: Random): string {
  const sum = actions.reduce((total, action) => total + weights[nameOf(action)]!, 0);
  let left = random.float() * sum;
  for (const action of actions) {
    left -= weights[nameOf(action)]!;
    if (left <= 0) return action;
  }
  return actions[0]!;
}

/** Adds the partitions of a read or a write. */
function whole(action: string, { world }: Model, random: Random): string {
  const { hosts } = world.shape;
  const [name, number] = action.split(' ');
  if (name === 'write') {
    const two = new Set([random.below(hosts.length), random.below(hosts.length)]);
    return `${action} ${[...two].sort().join()}`;
  }
  if (name !== 'read') return action;
  const { at } = world.sessions[Number(number)]!;
  const drawn = hosts.map((_, partition) => partition).filter(() => random.chance(0.75));
  const partitions = drawn.length === 0 ? [0] : drawn;
  const from = partitions.map((partition) => {
    const held = hosts[partition]!;
    return held.includes(at) && random.chance(0.7) ? at : random.pick(held);
  });
  return `${action} ${partitions.join()} ${from.join()}`;
}
