/** Bounds the lines that refusals may cause: a caller must not be able to fill the disk of an operator. */

/** Lines of one holder in a window, and of all. */
export interface SampleBounds {
  readonly perHolder: number;
  readonly all: number;
  /** Holders that are counted one by one; the others are counted as one. */
  readonly holders: number;
}

export const DEFAULT_SAMPLE_BOUNDS: SampleBounds = { perHolder: 5, all: 100, holders: 1000 };

/** The holder of all that are not counted one by one. */
export const OTHERS = 'others';

/** The counts of one window. */
export class Sampler {
  #written = 0;
  readonly #counts = new Map<string, number>();
  readonly #leftOut = new Map<string, number>();

  constructor(readonly bounds: SampleBounds) {}

  /** Whether a line of this holder is written. */
  take(holder: string): boolean {
    const counted = this.#counts.has(holder) || this.#counts.size < this.bounds.holders ? holder : OTHERS;
    const count = (this.#counts.get(counted) ?? 0) + 1;
    this.#counts.set(counted, count);
    if (count <= this.bounds.perHolder && this.#written < this.bounds.all) {
      this.#written++;
      return true;
    }
    this.#leftOut.set(counted, (this.#leftOut.get(counted) ?? 0) + 1);
    return false;
  }

  /** How many lines of each holder were left out: the first ones alone, the rest as one, within the bound of all. */
  leftOut(): ReadonlyMap<string, number> {
    const entries = [...this.#leftOut];
    const shown = new Map(entries.slice(0, this.bounds.all));
    const rest = entries.slice(this.bounds.all).reduce((sum, [, count]) => sum + count, 0);
    if (rest > 0) shown.set(OTHERS, (shown.get(OTHERS) ?? 0) + rest);
    return shown;
  }
}
