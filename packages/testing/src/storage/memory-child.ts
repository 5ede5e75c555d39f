/**
 * A process that reads and writes keys of all sizes in a store, and prints, after each round, how much more memory its
 * heap and buffers take than before the first round, and what the store counts. Run with `--expose-gc`.
 */
import { type DurableRecord, Random, Update } from '@isochron/core';
import { openLevelStore } from '@isochron/storage/level-store';

/** A round of the process. */
export interface MemoryRound {
  /** Bytes of the heap and of buffers that were not there before the first key. */
  readonly grown: number;
  /** Bytes that the store counts, and may count. */
  readonly counted: number;
  readonly limit: number;
  readonly keys: number;
  readonly written: number;
}

const [location, seed, limitBytes, rounds] = process.argv.slice(2);
const limit = Number(limitBytes);
const P = 0;
const BATCH = 200;
/** Keys that a round reads in one turn. */
const READ_TOGETHER = 500;

const random = new Random(Number(seed));
let ts = 1;

/** Most values are short, some are of several KiB, and a few longer than a row holds. */
function valueText(): string {
  const most = random.pick([100, 100, 100, 1_000, 1_000, 8_000, 12_000]);
  return `"${'x'.repeat(1 + random.below(most))}"`;
}

const keyOf = (n: number): string => `default/${'k'.repeat(n % 60)}${n}`;

function change(keys: number): DurableRecord {
  const dice = random.below(20);
  // A deleted key, and an update, of which later ones and the collector make a row again.
  const value =
    dice === 0 ? null : dice === 1 ? new Update(`[{"op":"set","path":"","value":${random.below(9)}}]`) : valueText();
  ts++;
  const version = { ts, txId: `t${ts}`, region: 'one', value };
  return { kind: 'version', partition: P, key: keyOf(random.below(keys)), version };
}

function memory(): number {
  for (let i = 0; i < 3; i++) globalThis.gc!();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function run(): Promise<void> {
  const store = await openLevelStore({
    location: location!,
    durability: 'memory',
    cacheBytes: limit,
    logTailBytes: 0,
    checkpoint: { bytes: 2 ** 20 },
  });
  // Some three times as many bytes as the limit.
  const keys = Math.ceil((3 * limit) / 1_800);
  const round = async (operations: number, most: number): Promise<void> => {
    for (let i = 0; i < operations; i += BATCH) await store.commit(Array.from({ length: BATCH }, () => change(most)));
    for (let i = 0; i < 2 * operations; i += READ_TOGETHER) {
      const asked = Array.from({ length: READ_TOGETHER }, () => keyOf(random.below(1 + random.below(most))));
      await store.prefetch({ kind: 'keys', partition: P, keys: asked });
      for (const key of asked) store.read(P, key, Number.MAX_SAFE_INTEGER);
    }
    await store.commit([{ kind: 'horizon', partition: P, horizon: 'gcFloor', upTo: ts }]);
    await store.recover();
  };
  // With few keys, so that what the process takes beside them is there: compiled code, buffers, tables.
  await round(10_000, 3_000);
  const before = memory() - store.stats().cache.bytes;
  for (let n = 0; n < Number(rounds); n++) {
    await round(keys / 3, keys);
    const { cache, partitions } = store.stats();
    const grown = memory() - before;
    const result: MemoryRound = {
      grown,
      counted: cache.bytes,
      limit,
      keys: cache.keys,
      written: partitions.get(P)!.keys,
    };
    process.stdout.write(`${JSON.stringify(result)}\n`);
  }
  await store.close();
}

void run();
