/**
 * LevelDB as the checkpoint of the durable log: the records that reach it, and the state after a crash.
 */
import { cpSync } from 'node:fs';
import { cp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DurableRecord, ListPage } from '@isochron/core';
import { testFolder } from '@isochron/testing/storage/folder';
import { onRawDisk } from '@isochron/testing/storage/raw-disk';
import {
  applied,
  collect,
  ended,
  FOREVER,
  logged,
  outcomeAt,
  P,
  prepared,
  put,
  range,
  v,
} from '@isochron/testing/storage/suite-fixtures';
import { ClassicLevel } from 'classic-level';
import { CorruptRecord } from '../failure.js';
import { openCheckpoint, seal } from '../level/records.js';
import { type LevelStoreOptions, openLevelStore } from '../level-store.js';
import type { VersionStore } from '../store.js';
import { openLogIn } from '../wal/segment-log.js';

/** No checkpoint unless a test asks for one. */
const NEVER = { bytes: 2 ** 40, ms: 2 ** 30, chainBytes: 2 ** 40 };
const prepare: DurableRecord = { kind: 'prepared', partition: P, txId: 't', record: prepared };
const unprepare: DurableRecord = { kind: 'prepared', partition: P, txId: 't', record: null };
const meta = (name: string, value: number): DurableRecord => ({ kind: 'meta', name, value });

let folder: string;
let location: string;
let store: VersionStore | undefined;
const open = async (options: Partial<LevelStoreOptions> = {}) => {
  store = await openLevelStore({ location, durability: 'memory', cacheBytes: 2 ** 20, checkpoint: NEVER, ...options });
  return store;
};
const close = async () => {
  await store?.close();
  store = undefined;
};
/** Continues with the files that a kill of the process would leave now. */
const kill = async () => {
  const left = `${location}+`;
  await cp(location, left, { recursive: true });
  await close();
  location = left;
};
beforeEach(async () => {
  folder = await testFolder('checkpoints');
  location = join(folder, 'store');
});
afterEach(async () => {
  await close();
  await rm(folder, { recursive: true, force: true });
});

/** Number of records that the log holds and LevelDB does not. */
async function replayed(): Promise<number> {
  const covered = await onRawDisk(location, async (disk) => openCheckpoint((await disk.get('m/checkpoint'))!));
  const log = await openLogIn(join(location, 'log'));
  await log.close();
  return log.end - covered;
}

/** The operations of each batch of LevelDB. */
async function batchesOf(work: () => Promise<void>): Promise<string[][]> {
  const batches: string[][] = [];
  const begin = ClassicLevel.prototype.batch;
  const spy = jest.spyOn(ClassicLevel.prototype, 'batch').mockImplementation(function (this: ClassicLevel) {
    const batch = begin.call(this);
    const operations: string[] = [];
    batches.push(operations);
    const [putOne, delOne] = [batch.put.bind(batch), batch.del.bind(batch)];
    batch.put = (key: string, value: unknown) => {
      operations.push(`put ${key}`);
      return putOne(key, value as never);
    };
    batch.del = (key: string) => {
      operations.push(`del ${key}`);
      return delOne(key);
    };
    return batch as never;
  });
  try {
    await work();
  } finally {
    spy.mockRestore();
  }
  return batches.map((operations) => operations.filter((operation) => !/ (b\/|m\/checkpoint)/.test(operation)));
}

describe('a store whose process was killed', () => {
  it('a store whose process was killed has every acknowledged commit, whether a checkpoint holds it or not', async () => {
    await open();
    for (let i = 0; i < 50; i++) {
      await store!.commit([
        put('a', v(10 + i)),
        put(`k${i}`, v(10)),
        logged(10 + i),
        ended(`t${i}`, outcomeAt(10 + i)),
      ]);
      if (i === 25) await store!.recover();
    }
    await store!.commit([prepare, meta('ceiling', 7)]);
    await kill();
    expect(await replayed()).toBe(25);
    await open();
    for (let i = 0; i < 50; i++) expect(store!.read(P, 'a', 10 + i)?.ts).toBe(10 + i);
    for (let i = 0; i < 50; i++) expect(store!.outcome(P, `t${i}`)?.ts).toBe(10 + i);
    expect(store!.stats().partitions.get(P)).toEqual({ keys: 51, versions: 100 });
    const recovered = await store!.recover();
    expect([recovered.meta.get('ceiling'), recovered.prepared.map(({ txId }) => txId)]).toEqual([7, ['t']]);
    expect(recovered.logEnds.get(P)).toBe(59);
  });

  it('a store has every acknowledged commit also when the process that replayed it is killed, over and over', async () => {
    await open();
    for (let i = 0; i < 10; i++) {
      await store!.commit([put('a', v(10 + i)), put('b', v(10 + i))]);
      await kill();
      await open();
    }
    expect(store!.stats().partitions.get(P)).toEqual({ keys: 2, versions: 20 });
  });

  it('a store removes a prepared transaction that an earlier process has taken to LevelDB', async () => {
    await open();
    await store!.commit([prepare]);
    await close();
    await (await open()).commit([unprepare]);
    await close();
    expect((await (await open()).recover()).prepared).toEqual([]);
  });

  it.each([
    [
      'after the checkpoint that holds it',
      async (later: () => Promise<void>) => {
        await store!.recover();
        await later();
      },
    ],
    [
      'while that checkpoint is written',
      async (later: () => Promise<void>) => {
        await Promise.all([store!.recover(), later()]);
      },
    ],
  ])('a store whose process was killed has the writes of a prepare that ended %s', async (_, run) => {
    await open({ cacheBytes: 2 ** 28 });
    // So many operations that the checkpoint leaves the thread in between.
    await store!.commit(Array.from({ length: 20_000 }, (_, i) => put(`k${i}`, v(5))));
    await store!.commit([prepare]);
    await run(async () => {
      // A checkpoint that was asked for has begun.
      await new Promise((done) => setImmediate(done));
      await store!.commit([applied('t', 90)]);
    });
    await kill();
    expect(await replayed()).toBe(1);
    await open();
    expect(prepared.writes.map(({ key }) => store!.read(P, key, FOREVER)?.value)).toEqual(['{"a":1}', null]);
    expect((await store!.recover()).prepared).toEqual([]);
  });

  it('a restart does not bring back versions, outcomes and log entries that were dropped before', async () => {
    await open();
    const all = [10, 20, 30].flatMap((ts) => [put('a', v(ts)), logged(ts), ended(`t${ts}`, outcomeAt(ts))]);
    await store!.commit([...all, prepare]);
    await store!.commit([
      collect(25),
      { kind: 'horizon', partition: P, horizon: 'forgottenUpTo', upTo: 25 },
      { kind: 'horizon', partition: P, horizon: 'logTruncatedUpTo', upTo: 25 },
      { kind: 'remove', partition: P, key: 'a', ts: 30, txId: 'tx30' },
      unprepare,
    ]);
    await kill();
    await open();
    expect([store!.read(P, 'a', FOREVER)?.ts, store!.outcome(P, 't20'), store!.outcome(P, 't30')?.ts]).toEqual([
      20,
      undefined,
      30,
    ]);
    await store!.prefetch({ kind: 'log', partition: P, after: 0, upTo: 100 });
    expect(store!.log(P, 0, 100).groups.map(({ ct }) => ct)).toEqual([30]);
    expect((await store!.recover()).prepared).toEqual([]);
    expect(store!.stats().partitions.get(P)).toEqual({ keys: 1, versions: 1 });
  });
});

describe('a checkpoint', () => {
  it('a checkpoint leaves a clean start nothing to replay', async () => {
    await open();
    for (let i = 0; i < 5; i++) await store!.commit([put('a', v(10 + i))]);
    await close();
    expect(await replayed()).toBe(0);
  });

  it('a checkpoint comes by itself, after some bytes or some time, and frees the log', async () => {
    for (const checkpoint of [
      { bytes: 20_000, ms: 2 ** 30 },
      { bytes: 2 ** 40, ms: 1 },
    ]) {
      await open({ checkpoint, segmentBytes: 5_000 });
      for (let i = 0; i < 100; i++) await store!.commit([put('a', v(10 + i, `"${'x'.repeat(1000)}"`))]);
      const segments = async () => (await readdir(join(location, 'log'))).length;
      for (let i = 0; i < 2000 && (await segments()) > 10; i++) await new Promise((done) => setTimeout(done, 1));
      expect(await segments()).toBeLessThanOrEqual(10);
      await close();
    }
  });

  it('a checkpoint writes neither a put nor a removal of a record that came and went since the one before', async () => {
    await open();
    const batches = await batchesOf(async () => {
      await store!.commit([prepare, logged(10), put('a', v(10))]);
      await store!.commit([unprepare, { kind: 'horizon', partition: P, horizon: 'logTruncatedUpTo', upTo: 10 }]);
      await store!.commit([{ kind: 'remove', partition: P, key: 'a', ts: 10, txId: 'tx10' }]);
      await close();
    });
    expect(batches).toEqual([['put m/logTruncatedUpTo/3', 'put c0003/']]);
  });

  it('a checkpoint removes records that an earlier one has written', async () => {
    await open();
    await store!.commit([prepare, logged(10), put('a', v(10))]);
    await store!.recover();
    const batches = await batchesOf(async () => {
      await store!.commit([unprepare, { kind: 'horizon', partition: P, horizon: 'logTruncatedUpTo', upTo: 10 }]);
      await store!.commit([{ kind: 'remove', partition: P, key: 'a', ts: 10, txId: 'tx10' }]);
      await store!.recover();
    });
    expect(batches).toEqual([['del p0003/t', 'put m/logTruncatedUpTo/3', 'del v0003/a', 'put c0003/']]);
    await close();
    const left = await onRawDisk(location, (disk) => disk.keys().all());
    expect(left.filter((key) => !/^[bmc]/.test(key))).toEqual([]);
  });

  it('a checkpoint writes a record once that has changed many times', async () => {
    await open();
    const batches = await batchesOf(async () => {
      for (let i = 0; i < 30; i++) await store!.commit([meta('ust', i), put('a', v(10)), ended('t', outcomeAt(i))]);
      await close();
    });
    expect(batches.map((batch) => batch.map((operation) => operation.replace(/ x.*/, ' x')))).toEqual([
      ['put m/ust', 'put v0003/a', 'put o0003/t', 'put x', 'put c0003/'],
    ]);
  });

  it('a checkpoint holds the records that were there when it began, and none that came later', async () => {
    await open({ cacheBytes: 2 ** 24 });
    // Several turns of the event loop: the commits fall between them.
    const keys = [...Array(2000).keys()].map((i) => `k${i}`);
    await store!.commit(keys.map((key) => put(key, v(10))));
    const checkpoint = store!.recover();
    await store!.commit(keys.map((key) => put(key, v(20))));
    await checkpoint;
    await kill();
    expect(await replayed()).toBe(1);
    await open();
    expect(store!.stats().partitions.get(P)).toEqual({ keys: 2000, versions: 4000 });
  });

  it('a checkpoint is not made while nothing has changed', async () => {
    await open({ checkpoint: { bytes: 2 ** 40, ms: 1 } });
    await store!.commit([meta('ust', 1)]);
    await store!.recover();
    const batches = await batchesOf(() => new Promise((done) => setTimeout(done, 50)));
    expect(batches).toEqual([]);
  });

  it.each([
    ['by the bytes of the log', { bytes: 1 }],
    ['by the memory of the chains with changes', { chainBytes: 1 }],
    ['by the time since the first change', { ms: 1 }],
  ])('a checkpoint is due %s', async (_by, part) => {
    await open({ checkpoint: { ...NEVER, ...part } });
    const begun = jest.spyOn(ClassicLevel.prototype, 'batch');
    await store!.commit([put('a', v(10))]);
    while (begun.mock.calls.length === 0) await new Promise((done) => setTimeout(done, 1));
    begun.mockRestore();
  });

  it('a checkpoint that fails ends the writing, and loses nothing', async () => {
    await open({ checkpoint: { bytes: 1, ms: 2 ** 30 } });
    const full = Object.assign(new Error('no room'), { code: 'ENOSPC' });
    const clear = jest.spyOn(ClassicLevel.prototype, 'batch').mockImplementation(() => {
      throw full;
    });
    await expect(store!.commit([put('a', v(10))])).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    clear.mockRestore();
    await expect(store!.commit([put('a', v(20))])).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    await close();
    await open();
    expect(store!.read(P, 'a', FOREVER)?.ts).toBe(10);
  });
});

describe('reads between two checkpoints', () => {
  it('a page of a listing looks up no more changed keys than it shows, and all pages together show each key once', async () => {
    await open({ cacheBytes: 2 ** 24 });
    const name = (i: number) => `k${String(i).padStart(4, '0')}`;
    for (const first of [0, 1, 2]) {
      await store!.commit([...Array(700).keys()].map((i) => put(name(3 * i + first), v(10))));
      if (first === 0) await store!.recover();
    }
    const keys: string[] = [];
    for (let start: string | null = ''; start !== null; ) {
      const page = { ...range(), start, limit: 10 };
      await store!.prefetch({ kind: 'list', partition: P, range: page, snapshot: FOREVER });
      const before = store!.stats().cache;
      const { entries, next }: ListPage = store!.list(P, page, FOREVER);
      const after = store!.stats().cache;
      expect(after.hits + after.misses - before.hits - before.misses).toBeLessThanOrEqual(11);
      keys.push(...entries.map(({ key }) => key));
      start = next;
    }
    expect(keys).toEqual([...Array(2100).keys()].map(name));
  });

  it('reads between two checkpoints see in listings, logs and copies the records that LevelDB does not hold yet', async () => {
    await open({ logTailBytes: 0 });
    await store!.commit([put('a', v(10)), put('c', v(10)), logged(10)]);
    await store!.recover();
    await store!.commit([put('b', v(20)), put('c', v(20, null)), logged(20)]);
    await store!.prefetch({ kind: 'list', partition: P, range: range(), snapshot: FOREVER });
    expect(store!.list(P, range(), FOREVER).entries.map(({ key }) => key)).toEqual(['a', 'b']);
    await store!.prefetch({ kind: 'list', partition: P, range: range(), snapshot: 'any' });
    expect(store!.list(P, range(), ({ ts }) => ts <= 10).entries.map(({ key }) => key)).toEqual(['a', 'c']);
    await store!.prefetch({ kind: 'log', partition: P, after: 0, upTo: 100 });
    expect(store!.log(P, 0, 100).groups.map(({ ct }) => ct)).toEqual([10, 20]);
    await store!.prefetch({ kind: 'copy', partition: P, start: '' });
    expect(store!.copy(P, '').chains.map(({ key, versions }) => [key, versions.length])).toEqual([
      ['a', 1],
      ['b', 1],
      ['c', 2],
    ]);
  });
});

describe('a store with a long log', () => {
  /** Leaves a log of many segments, of which LevelDB holds nothing. */
  const killedWithLongLog = async () => {
    await open({ segmentBytes: 2000 });
    for (let i = 0; i < 200; i++) await store!.commit([put(`k${i % 150}`, v(10 + i)), logged(10 + i)]);
    await kill();
  };
  const opened = { segmentBytes: 2000, checkpoint: { ...NEVER, bytes: 500 } };

  it('a store with a long log is opened with checkpoints on the way, and has everything', async () => {
    await killedWithLongLog();
    const segments = (await readdir(join(location, 'log'))).length;
    expect(segments).toBeGreaterThan(5);
    const batches = await batchesOf(async () => {
      await open(opened);
    });
    expect(batches.length).toBeGreaterThan(3);
    expect((await readdir(join(location, 'log'))).length).toBeLessThan(segments / 2);
    for (let i = 0; i < 150; i++) expect(store!.read(P, `k${i}`, FOREVER)?.ts).toBe(10 + (i < 50 ? 150 + i : i));
    expect(store!.stats().partitions.get(P)).toEqual({ keys: 150, versions: 200 });
    await store!.prefetch({ kind: 'log', partition: P, after: 0, upTo: FOREVER });
    expect(store!.log(P, 0, FOREVER).groups.length).toBe(200);
  });

  it('a store with a long log that is damaged far behind is refused each time, and serves nothing', async () => {
    await killedWithLongLog();
    const whole = await replayed();
    const damaged = join(location, 'log', (await readdir(join(location, 'log'))).sort().at(-3)!);
    const bytes = await readFile(damaged);
    bytes[bytes.length - 20]! ^= 0x10;
    await writeFile(damaged, bytes);
    for (let round = 0; round < 2; round++) {
      await expect(open(opened)).rejects.toBeInstanceOf(CorruptRecord);
      const rest = await replayed();
      expect([rest > 0, rest < whole]).toEqual([true, true]);
    }
  });

  it('a store that is killed while it replays a long log goes on where the last checkpoint was', async () => {
    await killedWithLongLog();
    const whole = await replayed();
    const left = `${location}+`;
    const begin = ClassicLevel.prototype.batch;
    let checkpoints = 0;
    const spy = jest.spyOn(ClassicLevel.prototype, 'batch').mockImplementation(function (this: ClassicLevel) {
      // The files that a kill would leave at the third checkpoint.
      if (++checkpoints === 3) cpSync(location, left, { recursive: true });
      return begin.call(this);
    });
    await open(opened);
    spy.mockRestore();
    await close();
    location = left;
    const rest = await replayed();
    expect([rest > 0, rest < whole]).toEqual([true, true]);
    await open();
    expect(store!.stats().partitions.get(P)).toEqual({ keys: 150, versions: 200 });
  });
});

describe('damage between LevelDB and the log', () => {
  const segment = async () => join(location, 'log', (await readdir(join(location, 'log'))).sort().at(-1)!);
  const written = async () => {
    await open();
    await store!.commit([put('a', v(10))]);
    await store!.recover();
    for (let i = 0; i < 3; i++) await store!.commit([put('a', v(20 + i))]);
    await kill();
  };

  it('a record of the log with flipped bits is damage, and nothing is served', async () => {
    await written();
    const bytes = await readFile(await segment());
    const clean = Buffer.from(bytes);
    for (let at = 30; at < bytes.length; at += 7) {
      clean.copy(bytes);
      bytes[at]! ^= 0x10;
      await writeFile(await segment(), bytes);
      await expect(open()).rejects.toBeInstanceOf(CorruptRecord);
    }
  });

  it('the torn end of an append that was not acknowledged is no damage', async () => {
    await written();
    const bytes = await readFile(await segment());
    await truncate(await segment(), bytes.length - 1);
    await open();
    expect(store!.read(P, 'a', FOREVER)?.ts).toBe(21);
  });

  it('a log that lacks records below the position that LevelDB covers, or is gone, is damage', async () => {
    await written();
    await open();
    await close();
    const whole = await readFile(await segment());
    await truncate(await segment(), whole.length - 1);
    await expect(open()).rejects.toMatchObject({ code: 'STORAGE_FAILED', damage: 'missing' });
    await rm(join(location, 'log'), { recursive: true });
    await expect(open()).rejects.toMatchObject({ code: 'STORAGE_FAILED', damage: 'missing' });
  });

  it('a log that is gone before the first checkpoint is damage', async () => {
    await open();
    await store!.commit([put('a', v(10))]);
    await kill();
    await rm(join(location, 'log'), { recursive: true });
    await expect(open()).rejects.toMatchObject({ code: 'STORAGE_FAILED', damage: 'missing' });
  });

  it('a log without the record of the position that LevelDB covers is damage', async () => {
    await written();
    await onRawDisk(location, (disk) => disk.del('m/checkpoint'));
    await expect(open()).rejects.toMatchObject({ code: 'STORAGE_FAILED', damage: 'missing' });
  });
});

describe('a data folder of another format', () => {
  const refusal = (format: number) => ({
    code: 'STORAGE_FORMAT',
    retryable: false,
    message: expect.stringMatching(new RegExp(`has format ${format}, and .* reads 7\\. Start the version .* or move`)),
  });

  it('a data folder of an earlier format is refused, and left as it is', async () => {
    await open();
    await store!.commit([put('a', v(10))]);
    await close();
    const covered = await onRawDisk(location, async (disk) => openCheckpoint((await disk.get('m/checkpoint'))!));
    for (const format of [2, 3, 4, 5, 6]) {
      const bytes = Buffer.from(seal(covered, 'm/checkpoint', format));
      await onRawDisk(location, (disk) => disk.put('m/checkpoint', bytes));
      await expect(open()).rejects.toMatchObject(refusal(format));
      expect(await onRawDisk(location, (disk) => disk.get('m/checkpoint'))).toEqual(bytes);
    }
  });

  it('a data folder with data and without a log is refused', async () => {
    await open();
    await store!.commit([put('a', v(10))]);
    await close();
    await rm(join(location, 'log'), { recursive: true });
    await onRawDisk(location, (disk) => disk.del('m/checkpoint'));
    await expect(open()).rejects.toMatchObject(refusal(1));
  });

  it('a data folder whose first start was killed before it held anything is new', async () => {
    await open();
    await close();
    await onRawDisk(location, (disk) => disk.clear());
    await open();
    await store!.commit([put('a', v(10))]);
    expect(store!.read(P, 'a', FOREVER)?.ts).toBe(10);
  });
});
