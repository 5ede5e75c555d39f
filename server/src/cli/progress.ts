/** A progress bar on stderr in a terminal; no output elsewhere. */
import cliProgress from 'cli-progress';
import { bytes, count, isInteractive } from './output.js';

/** Progress of long work on rows. */
export class RowProgress {
  readonly #bar: cliProgress.SingleBar | undefined;
  readonly #startedAt = performance.now();
  readonly #label: string;
  readonly #total: number | undefined;

  /** @param total final `position`, in bytes; undefined when it is not known */
  constructor(label: string, total: number | undefined) {
    this.#label = label;
    this.#total = total;
    if (!isInteractive()) return;
    const bar = total === undefined ? '' : ' {bar} {percentage} % of {size} | ETA {eta} s |';
    this.#bar = new cliProgress.SingleBar(
      { format: `{label}${bar} {rows} rows, {speed} rows/s`, hideCursor: true, clearOnComplete: true, fps: 5 },
      cliProgress.Presets.shades_classic,
    );
    this.#bar.start(total ?? 1, 0, this.#payload(0));
  }

  update(rows: number, position: number): void {
    this.#bar?.update(this.#total === undefined ? 0 : Math.min(position, this.#total), this.#payload(rows));
  }

  end(): void {
    this.#bar?.stop();
  }

  /** Time since the work began, ms. */
  get elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  #payload(rows: number): object {
    const speed = count((rows * 1000) / Math.max(1, this.elapsedMs));
    return { label: this.#label, rows: count(rows), speed, size: bytes(this.#total ?? 0) };
  }
}
