/** Draws of both kinds of workloads: times, keys, values, ids. */
import { type Random, Update } from '@isochron/core';
import { HLC_TICKS_PER_MS } from '@isochron/core/hlc';
import type { Content, Timestamp, Value } from '@isochron/core/ids';

export const REGIONS = ['virginia', 'oregon', 'frankfurt'] as const;

/**
 * Two keys that are equal when text is compared by characters; one beyond the basic plane; and one with a slash and an
 * accent that is not a slash in that comparison.
 */
export const KEYS = [
  'default/a',
  'default/b',
  'notes/caf\u00e9',
  'notes/cafe\u0301',
  'notes/\u{1d11e}',
  'notes/\u0301/x',
] as const;

const VALUES: readonly Value[] = [
  '1',
  '"x"',
  '{"a":[1,null]}',
  '"caf\u00e9"',
  '"cafe\u0301"',
  'null',
  new Uint8Array(),
  new Uint8Array([0, 255, 62, 63]),
];

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** 22 characters of base64url, the form of session names. */
export const drawId = (random: Random): string =>
  Array.from({ length: 22 }, () => BASE64URL[random.below(BASE64URL.length)]).join('');

export const drawKey = (random: Random): string => random.pick(KEYS);

/** Null deletes. */
export const drawValue = (random: Random): Value | null => (random.chance(0.15) ? null : random.pick(VALUES));

/** Updates whose results depend on their order, on the document below and on the time of the commit. */
const UPDATES = [
  '[{"op":"increment","path":"/n","by":1}]',
  '[{"op":"max","path":"/n","value":3},{"op":"append","path":"/l","items":[1]}]',
  '[{"op":"arrayUnion","path":"/l","items":["caf\u00e9","cafe\u0301"]}]',
  '[{"op":"mergePatch","path":"","patch":{"n":null,"m":{}}}]',
  '[{"op":"serverTimestamp","path":"/at"}]',
  '[{"op":"init","value":{"by":1}}]',
  '[{"op":"remove","path":""}]',
  '[{"op":"set","path":"","value":{"n":10}},{"op":"increment","path":"/n","by":0.5}]',
];

/** A value, an update, or null, which deletes. */
export const drawContent = (random: Random): Content =>
  random.chance(0.4) ? new Update(random.pick(UPDATES)) : drawValue(random);

export interface Choice<T> {
  readonly weight: number;
  readonly of: T;
}

/** One of the choices, drawn by weight. */
export function drawChoice<T>(random: Random, choices: readonly Choice<T>[]): T {
  let left = random.below(choices.reduce((sum, { weight }) => sum + weight, 0));
  for (const { weight, of } of choices) {
    if (left < weight) return of;
    left -= weight;
  }
  throw new RangeError('no choice has a weight');
}

/** Times of a small world: few of them, so that equal ones and ones out of order are common. */
export class Times {
  readonly #random: Random;
  readonly #start: Timestamp;
  readonly #step: Timestamp;
  #now = 1;

  constructor(random: Random) {
    this.#random = random;
    // From zero; like those of today; and close to the greatest integer that a double holds exactly.
    this.#start = random.pick([0, 0, 60_000_000 * 1000 * HLC_TICKS_PER_MS, 2 ** 53 - 2 ** 41]);
    this.#step = random.pick([1, 1, HLC_TICKS_PER_MS]);
  }

  /** Advances the time. */
  pass(): void {
    this.#now += this.#random.below(4);
  }

  get now(): Timestamp {
    return this.#at(this.#now);
  }

  /** Now, or slightly earlier. */
  recent(): Timestamp {
    return this.#at(this.#now - this.#random.below(6));
  }

  /** A while before now, as stable times are. */
  lagging(): Timestamp {
    return this.#at(this.#now - 12 - this.#random.below(8));
  }

  /** After now, which then becomes now. */
  next(): Timestamp {
    this.#now += 1 + this.#random.below(3);
    return this.now;
  }

  /** Any time so far. */
  any(): Timestamp {
    return this.#random.chance(0.1) ? 0 : this.#at(this.#random.below(this.#now + 1));
  }

  #at(index: number): Timestamp {
    return index <= 0 ? 0 : this.#start + index * this.#step;
  }
}
