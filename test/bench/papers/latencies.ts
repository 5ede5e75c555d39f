/** Latencies counted in several processes, merged. */
import { decodeFromCompressedBase64, encodeIntoCompressedBase64, type Histogram } from 'hdr-histogram-js';
import { latencyHistogram, record } from '../load/window.js';
import type { Kind } from './experiment.js';
import type { Latency } from './samples.js';

/** Histograms as text, by kind: the result of a load generator. */
export type Encoded = { readonly [K in Kind]?: string };

/** Latencies by kind. */
export class Latencies {
  readonly #histograms = new Map<Kind, Histogram>();

  record(kind: Kind, elapsedMs: number): void {
    record(this.#of(kind), elapsedMs);
  }

  /** Operations of all kinds. */
  get count(): number {
    return [...this.#histograms.values()].reduce((sum, { totalCount }) => sum + totalCount, 0);
  }

  encode(): Encoded {
    return Object.fromEntries([...this.#histograms].map(([kind, all]) => [kind, encodeIntoCompressedBase64(all)]));
  }

  add(encoded: Encoded): void {
    for (const [kind, text] of Object.entries(encoded)) this.#of(kind as Kind).add(decodeFromCompressedBase64(text));
  }

  summary(): { readonly [K in Kind]?: Latency } {
    return Object.fromEntries([...this.#histograms].map(([kind, histogram]) => [kind, latencyOf(histogram)]));
  }

  #of(kind: Kind): Histogram {
    const known = this.#histograms.get(kind) ?? latencyHistogram();
    this.#histograms.set(kind, known);
    return known;
  }
}

function latencyOf(histogram: Histogram): Latency {
  const ms = (percentile: number): number => histogram.getValueAtPercentile(percentile) / 1000;
  return { count: histogram.totalCount, meanMs: histogram.mean / 1000, p50Ms: ms(50), p95Ms: ms(95), p99Ms: ms(99) };
}
