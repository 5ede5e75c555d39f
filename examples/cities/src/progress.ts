/** Progress on stderr: a bar in a terminal, a line now and then elsewhere. */
import cliProgress from 'cli-progress';
import type { Progress } from './import.js';

const LABELS = { import: 'Importing', wait: 'Waiting for all regions', verify: 'Reading every region' } as const;
const LINE_INTERVAL_MS = 2000;

/** Megabytes of memory that this process has. */
export const memoryMb = (): number => Math.round(process.memoryUsage.rss() / 1e6);

export class ProgressBar {
  readonly #bar: cliProgress.SingleBar | undefined;
  #phase: Progress['phase'] | undefined;
  #phaseStartMs = 0;
  #lastLineMs = 0;

  constructor() {
    if (!process.stderr.isTTY) return;
    const format =
      '{label} {bar} {percentage} % | {value} of {total} | {speed} rows/s | staleness {staleness} ms | {memory} MB';
    this.#bar = new cliProgress.SingleBar({ format, hideCursor: true, fps: 8 }, cliProgress.Presets.shades_classic);
  }

  update(progress: Progress): void {
    const nowMs = performance.now();
    const begins = progress.phase !== this.#phase;
    if (begins) {
      this.#phase = progress.phase;
      this.#phaseStartMs = nowMs;
      this.#bar?.stop();
      this.#bar?.start(progress.total, 0, payload(progress, 0));
    }
    this.#bar?.update(progress.rows, payload(progress, nowMs - this.#phaseStartMs));
    if (this.#bar !== undefined || (!begins && nowMs - this.#lastLineMs < LINE_INTERVAL_MS)) return;
    this.#lastLineMs = nowMs;
    const { label, speed, staleness, memory } = payload(progress, nowMs - this.#phaseStartMs);
    process.stderr.write(
      `${label}: ${progress.rows} of ${progress.total}, ${speed} rows/s, staleness ${staleness} ms, ${memory} MB\n`,
    );
  }

  end(): void {
    this.#bar?.stop();
  }
}

function payload({ phase, rows, stalenessMs }: Progress, elapsedMs: number) {
  return {
    label: LABELS[phase],
    speed: elapsedMs < 1 ? 0 : Math.round((rows * 1000) / elapsedMs),
    staleness: stalenessMs === undefined ? '-' : Math.round(stalenessMs),
    memory: memoryMb(),
  };
}
