/** From samples to costs: a line through the measurements for each number of items. */
import type { Cost, Costs } from '@isochron/sim/scale/cost-model';
import { quantile } from '../figures.js';

/** Samples kept for each kind and number of items; enough for a mean. */
const MOST = 2_000;
/**
 * Above this multiple of the median a sample was interrupted: by the machine's other work, or by the garbage collector.
 */
const INTERRUPTED = 10;

/** Times of one kind with the same number of items. */
interface Same {
  readonly us: number[];
  count: number;
}

export class Samples {
  readonly #kinds = new Map<string, Map<number, Same>>();

  add(kind: string, items: number, us: number): void {
    let byItems = this.#kinds.get(kind);
    if (byItems === undefined) {
      byItems = new Map();
      this.#kinds.set(kind, byItems);
    }
    const same = byItems.get(items);
    if (same === undefined) byItems.set(items, { us: [us], count: 1 });
    else {
      same.count++;
      if (same.us.length < MOST) same.us.push(us);
    }
  }

  /** The sum without interruptions, µs. */
  get totalUs(): number {
    let total = 0;
    for (const byItems of this.#kinds.values())
      for (const { us, count } of byItems.values()) total += typical(us) * count;
    return total;
  }

  /**
   * Kinds with few samples are left out.
   * @param scale the factor of every time
   */
  costs(least: number, scale = 1): Costs {
    const fitted: Record<string, Cost> = {};
    for (const [kind, byItems] of [...this.#kinds].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const points = [...byItems].map(([items, { us, count }]) => [items, typical(us) * scale, count] as const);
      if (points.reduce((sum, [, , count]) => sum + count, 0) >= least) fitted[kind] = lineThrough(points);
    }
    const all = Object.values(fitted).map(({ us }) => us);
    return { ...fitted, other: { us: rounded(quantile(all, 0.5)), perItemUs: 0 } };
  }
}

function typical(us: readonly number[]): number {
  const median = quantile(us, 0.5);
  const kept = us.filter((each) => each <= median * INTERRUPTED);
  return kept.reduce((sum, each) => sum + each, 0) / kept.length;
}

/** Least squares, neither part below zero. @param points items, µs, weight */
export function lineThrough(points: readonly (readonly [items: number, us: number, weight: number])[]): Cost {
  const total = points.reduce((sum, [, , weight]) => sum + weight, 0);
  const mean = (part: 0 | 1): number => points.reduce((sum, point) => sum + point[part] * point[2], 0) / total;
  const [items, us] = [mean(0), mean(1)];
  let [above, below] = [0, 0];
  for (const [x, y, weight] of points) {
    above += weight * (x - items) * (y - us);
    below += weight * (x - items) ** 2;
  }
  const slope = below === 0 ? 0 : Math.max(0, above / below);
  const start = us - slope * items;
  return start >= 0 ? { us: rounded(start), perItemUs: rounded(slope) } : { us: 0, perItemUs: rounded(us / items) };
}

/** µs, to the nanosecond. */
export const rounded = (us: number): number => Number(us.toFixed(3));

/** An equation `row · x = right`. */
export interface Equation {
  readonly row: readonly number[];
  readonly right: number;
}

const SWEEPS = 20_000;

/** The x without negative parts that comes closest to all equations: improves one part after the other, repeatedly. */
export function nonNegativeLeastSquares(equations: readonly Equation[]): number[] {
  const x = equations[0]!.row.map(() => 0);
  const left = equations.map(({ right }) => right);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (let k = 0; k < x.length; k++) {
      let [product, square] = [0, 0];
      equations.forEach(({ row }, i) => {
        product += row[k]! * left[i]!;
        square += row[k]! ** 2;
      });
      const next = square === 0 ? 0 : Math.max(0, x[k]! + product / square);
      const change = next - x[k]!;
      x[k] = next;
      equations.forEach(({ row }, i) => {
        left[i]! -= row[k]! * change;
      });
    }
  }
  return x;
}
