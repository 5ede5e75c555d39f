/** Options of the benchmarks' commands, and their end. */
import { type Command, InvalidArgumentError } from 'commander';
import type { BenchSettings, Context } from './context.js';

const QUICK_KEYS = 1_000;
const QUICK_DURATION_MS = 1000;

/** Options of every benchmark run. */
export interface RunOptions {
  /** Seconds. */
  readonly duration: number;
  readonly rounds: number;
  readonly seed: number;
  readonly keys: number;
  readonly profile?: string;
  readonly quick: boolean;
}

/** The default size of a run. */
export interface RunSize {
  /** Seconds. */
  readonly duration: number;
  readonly rounds: number;
  /** Of a partition. */
  readonly keys: number;
}

/** The same command with {@link RunOptions}. */
export const addRunOptions = (command: Command, size: RunSize): Command =>
  command
    .option('--duration <seconds>', 'length of a round', positive, size.duration)
    .option('--rounds <n>', 'rounds of each; their median counts', whole, size.rounds)
    .option('--keys <n>', 'keys of a partition', whole, size.keys)
    .option('--seed <n>', 'seed of the random numbers', whole, 1)
    .option('--profile <folder>', 'write CPU profiles of all processes there')
    .option('--quick', 'one short round of each and little data: shows that all of it runs, measures nothing', false);

/** @param quickMs length of a round with `--quick` */
export function settingsOf(
  { duration, rounds, keys, seed, quick, profile }: RunOptions,
  quickMs = QUICK_DURATION_MS,
): BenchSettings {
  const size = quick
    ? { rounds: 1, durationMs: quickMs, keysPerPartition: Math.min(keys, QUICK_KEYS) }
    : { rounds, durationMs: duration * 1000, keysPerPartition: keys };
  return { ...size, seed, quick, profile };
}

/** Parses names or prefixes, with commas between them. Throws InvalidArgumentError for an unknown one. */
export const chosenFrom =
  <T extends { readonly name: string }>(all: readonly T[]) =>
  (text: string): T[] => {
    const names = text.split(',').map((name) => name.trim());
    const unknown = names.find((start) => !all.some(({ name }) => name.startsWith(start)));
    if (unknown !== undefined) {
      throw new InvalidArgumentError(
        `none is called "${unknown}"; there are ${all.map(({ name }) => name).join(', ')}`,
      );
    }
    const isName = (text: string): boolean => all.some(({ name }) => name === text);
    return all.filter(({ name }) => names.some((text) => (isName(text) ? name === text : name.startsWith(text))));
  };

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('expected a number above 0');
  return value;
}

/** Parses a whole number above 0. @throws InvalidArgumentError */
export function whole(text: string): number {
  if (!Number.isSafeInteger(positive(text))) throw new InvalidArgumentError('expected a whole number above 0');
  return Number(text);
}

/** The first signal ends all processes of the contexts in order, the second one at once. */
export function endOnSignals(contexts: readonly Context[]): void {
  let ending = false;
  const end = (signal: NodeJS.Signals): void => {
    if (ending) {
      for (const context of contexts) context.kill();
      process.exit(1);
    }
    ending = true;
    process.stderr.write('\nStopping ...\n');
    void Promise.all(contexts.map((context) => context.close())).finally(() =>
      process.exit(signal === 'SIGINT' ? 130 : 143),
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
}
