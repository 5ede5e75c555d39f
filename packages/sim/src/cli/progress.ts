import type { Summary } from './summary.js';

const EVERY_MS = 250;

/** A line on stderr with the progress: updated on a terminal, printed once at the end elsewhere. */
export class SeedProgress {
  readonly #startMs = performance.now();
  #drawnMs = 0;
  #seeds = 0;
  #failed = 0;
  #transactions = 0;
  #virtualMs = 0;
  #faults = 0;

  constructor(
    readonly protocol: string,
    readonly seedStart: number,
    readonly total: number | undefined,
    readonly endMs: number | undefined,
  ) {}

  done({ ok, transactions, virtualMs, faults }: Summary): void {
    this.#seeds++;
    if (!ok) this.#failed++;
    this.#transactions += transactions;
    this.#virtualMs += virtualMs;
    this.#faults += faults;
    const now = performance.now();
    if (!process.stderr.isTTY || now - this.#drawnMs < EVERY_MS) return;
    this.#drawnMs = now;
    process.stderr.write(`\r\u001b[K${this.#line()}${this.#left(now)}`);
  }

  end(): void {
    process.stderr.write(`${process.stderr.isTTY ? '\r\u001b[K' : ''}${this.#line()}\n`);
  }

  #line(): string {
    const seconds = (performance.now() - this.#startMs) / 1000;
    const of = this.total === undefined ? '' : ` of ${this.total}`;
    return (
      `${this.protocol}: ${this.#seeds}${of} seeds from ${this.seedStart}, ${this.#failed} failed, ` +
      `${this.#transactions} transactions, ${this.#faults} faults, ${Math.round(this.#virtualMs / 1000)} virtual s ` +
      `in ${seconds.toFixed(1)} s (${(this.#seeds / seconds).toFixed(1)} seeds/s)`
    );
  }

  #left(now: number): string {
    const leftMs =
      this.endMs !== undefined
        ? this.endMs - now
        : ((this.total! - this.#seeds) * (now - this.#startMs)) / Math.max(1, this.#seeds);
    return `, ${Math.max(0, Math.round(leftMs / 1000))} s left`;
  }
}
