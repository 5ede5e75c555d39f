/**
 * Answers of nodes, for each protocol of single operations: mostly correct ones, and some that no correct node gives.
 */
import type { Random } from '@isochron/core';
import type { Dependency, Deps, Timestamp } from '@isochron/core/ids';
import type { OperationName } from '@isochron/protocols';
import { drawChoice, drawKey, REGIONS, type Times } from '../drawing.js';

/** The dependency metadata of an answer. */
export interface Seen {
  readonly seen: Deps;
  readonly depends?: readonly Dependency[];
}

interface Shape {
  readonly read: () => Seen;
  readonly wrote: () => Seen;
}

const PARTITIONS = 4;

export class OperationWorld {
  readonly #random: Random;
  readonly #times: Times;
  readonly #shape: Shape;
  #horizon: Timestamp = 0;
  #lastVersion: Dependency;

  constructor(protocol: OperationName, random: Random, times: Times) {
    this.#random = random;
    this.#times = times;
    this.#shape = this.#shapeOf(protocol);
    this.#lastVersion = this.#version();
  }

  read(): Seen {
    return this.#shape.read();
  }

  wrote(): Seen {
    return this.#shape.wrote();
  }

  #shapeOf(protocol: OperationName): Shape {
    switch (protocol) {
      case 'eventual':
        return this.#entries(0);
      case 'gentlerain':
        return this.#entries(2);
      case 'contrarian':
        return this.#entries(REGIONS.length);
      case 'okapi':
        return this.#entries(1 + REGIONS.length);
      case 'cops-gt':
      case 'cc-lo':
        return this.#named();
      default:
        return this.#matrices();
    }
  }

  /** Vectors and scalars; sometimes of another length. */
  #entries(length: number): Shape {
    const seen = (): Seen => {
      const count = this.#random.chance(0.93) ? length : this.#random.below(6);
      return { seen: Array.from({ length: count }, () => this.#times.any()) };
    };
    return { read: seen, wrote: seen };
  }

  /** Triples of a partition, a region and a timestamp, in order. A PUT leaves one. */
  #matrices(): Shape {
    const matrix = (share: number) => {
      const elements: number[] = [];
      for (let at = 0; at < PARTITIONS * REGIONS.length; at++) {
        const [partition, region] = [Math.floor(at / REGIONS.length), at % REGIONS.length];
        if (this.#random.chance(share)) elements.push(partition, region, this.#times.any());
      }
      return { seen: elements };
    };
    const element = () => [this.#random.below(PARTITIONS), this.#random.below(REGIONS.length), this.#times.now];
    return {
      read: () => matrix(this.#random.pick([0, 0.1, 0.3, 1])),
      wrote: () => (this.#random.chance(0.9) ? { seen: element() } : matrix(0.2)),
    };
  }

  /** `[highest, horizon, clock]`, and versions by their keys. */
  #named(): Shape {
    return {
      read: () => this.#withSeen(this.#random.below(6)),
      wrote: () => this.#withSeen(this.#random.chance(0.9) ? 1 : this.#random.below(3)),
    };
  }

  #withSeen(count: number): Seen {
    const depends = Array.from({ length: count }, () => this.#dependency());
    const seen = this.#dependencies();
    return count === 0 && this.#random.chance(0.7) ? { seen } : { seen, depends };
  }

  #dependencies(): Deps {
    if (this.#random.chance(0.25)) this.#horizon = Math.max(this.#horizon, this.#times.any());
    const [highest, horizon, clock] = [this.#times.recent(), this.#horizon, this.#times.now];
    return drawChoice<Deps>(this.#random, [
      { weight: 16, of: [highest, horizon, clock] },
      { weight: 1, of: [] },
      { weight: 1, of: [highest] },
      { weight: 1, of: [highest, this.#times.any(), clock] },
    ]);
  }

  /** Sometimes the last one again, as another node has it. */
  #dependency(): Dependency {
    const version = this.#random.chance(0.3) ? this.#lastVersion : this.#version();
    this.#lastVersion = version;
    return this.#random.chance(0.5) ? { ...version, near: true } : version;
  }

  #version(): Dependency {
    return { key: drawKey(this.#random), source: this.#random.below(REGIONS.length), ts: this.#times.any() };
  }
}
