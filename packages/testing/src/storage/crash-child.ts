/**
 * A process that commits numbered batches until it is killed, and prints the number of each that is durable. When a
 * step is named, the process kills itself at one of these steps, before it is done or right after.
 */
import fs from 'node:fs';
import promises from 'node:fs/promises';
import type { DurableRecord } from '@isochron/core';
import { openLevelStore } from '@isochron/storage/level-store';
import { ClassicLevel } from 'classic-level';

const [location, first, step, count] = process.argv.slice(2);

function batch(n: number): DurableRecord[] {
  const keys = [...Array.from({ length: 10 }, (_, i) => `k${i}`), 'latest'];
  return [
    {
      kind: 'applied',
      partition: 1,
      ct: n + 1,
      tx: { txId: `t${n}`, writes: keys.map((key) => ({ key, value: `"${n}"` })) },
      region: 'virginia',
      log: 'own',
      outcome: { attempt: 0, digest: null },
    },
    { kind: 'remove', partition: 1, key: 'latest', ts: n, txId: `t${n - 1}` },
    ...(step === 'clear' || step === 'cut'
      ? [{ kind: 'horizon' as const, partition: 1, horizon: 'logTruncatedUpTo' as const, upTo: Math.max(0, n - 20) }]
      : []),
    { kind: 'meta', name: 'batch', value: n },
    // Most entries of a checkpoint are settled, and the last ones are not.
    { kind: 'meta', name: 'ust', value: Math.max(0, n - 3) },
  ];
}

let steps = 0;
const kill = (): void => {
  process.kill(process.pid, 'SIGKILL');
};

type Method = (...args: unknown[]) => unknown;

/** Dies at the step of that number; at an even one before the work begins, at an odd one when it is done. */
function dying(owner: object, name: string): void {
  const target = owner as Record<string, Method>;
  const work = target[name]!;
  target[name] = function (this: unknown, ...args: unknown[]): unknown {
    const number = steps++;
    if (number !== Number(count)) return work.apply(this, args);
    if (number % 2 === 0) kill();
    const done = work.apply(this, args);
    if (done instanceof Promise) return done.then(kill);
    // A write, which calls back.
    setImmediate(kill);
    return done;
  };
}

/** Each step of the store, by its name. */
const STEPS: Readonly<Record<string, () => void>> = {
  append: () => dying(fs, 'write'),
  checkpoint: () => {
    const database: { batch(): object } = ClassicLevel.prototype;
    const begin = database.batch;
    database.batch = function (this: object) {
      const made = begin.call(this);
      dying(made, 'write');
      return made;
    };
  },
  clear: () => dying(ClassicLevel.prototype, 'clear'),
  cut: () => dying(promises, 'unlink'),
  segment: () => dying(promises, 'rename'),
  // A file of blocks, or a new segment.
  sync: () => dying(fs, 'fdatasync'),
};

async function run(): Promise<void> {
  if (step !== undefined) STEPS[step]!();
  // Small ones, so that a kill meets every step of a checkpoint.
  const small = { checkpoint: { bytes: 4000 }, segmentBytes: 3000 };
  const store = await openLevelStore({ location: location!, durability: 'synced', cacheBytes: 2 ** 20, ...small });
  // Two in flight, so that a kill meets one batch on its way and one waiting.
  let previous = Promise.resolve();
  for (let n = Number(first); ; n++) {
    const done = store.commit(batch(n)).then(() => {
      process.stdout.write(`${n}\n`);
    });
    await previous;
    previous = done;
  }
}

void run();
