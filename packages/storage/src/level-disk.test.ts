import { type ChildProcess, execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { AppliedRecord, DurableRecord, KeyWrite } from '@isochron/core';
import { CHILD_ENV, childScript } from '@isochron/testing/storage/child-script';
import { testFolder } from '@isochron/testing/storage/folder';
import { onRawDisk } from '@isochron/testing/storage/raw-disk';
import { ClassicLevel } from 'classic-level';
import { COUNTERS, openAs } from './level/records.js';
import { openLevelStore } from './level-store.js';
import type { VersionStore } from './store.js';

const P = 1;
const version = (ts: number, value = `"${ts}"`) => ({ ts, txId: `tx${ts}`, region: 'virginia', value });
const put = (key: string, ts: number, value?: string): DurableRecord => ({
  kind: 'version',
  partition: P,
  key,
  version: version(ts, value),
});
const applied = (ct: number, txId: string, writes: readonly KeyWrite[] = []): AppliedRecord => ({
  kind: 'applied',
  partition: P,
  ct,
  tx: { txId, writes },
  region: 'virginia',
  log: 'own',
});
const remove = (key: string, ts: number): DurableRecord => ({ kind: 'remove', partition: P, key, ts, txId: `tx${ts}` });

describe('the LevelDB store and its disk', () => {
  let location: string;
  let store: VersionStore | undefined;
  const open = async (cacheBytes = 2 ** 20) => {
    store = await openLevelStore({ location, durability: 'memory', cacheBytes });
    return store;
  };
  beforeEach(async () => {
    location = await testFolder('storage');
  });
  afterEach(async () => {
    await store?.close();
    store = undefined;
    await rm(location, { recursive: true, force: true });
  });

  it('cold keys of any length and letters are found, and keep their versions when they are written again', async () => {
    const keys = ['a', ...['é', '€', '𝈿'].flatMap((letter) => [20, 45, 90, 91, 92, 256].map((n) => letter.repeat(n)))];
    await (await open()).commit(keys.map((key) => put(key, 10)));
    await store!.close();
    // A cache that keeps no chain.
    await open(1);
    expect(keys.filter((key) => store!.read(P, key, 10) === undefined)).toEqual([]);
    await store!.commit(keys.map((key) => put(key, 20)));
    await store!.close();
    await open(1);
    expect(keys.filter((key) => store!.read(P, key, 10)?.ts !== 10)).toEqual([]);
  });

  it('the LevelDB store reads a cold key with one get, and a cached one with none', async () => {
    await (await open()).commit([...Array(8).keys()].map((i) => put('a', 10 + i)));
    await store!.close();
    await open();
    const get = jest.spyOn(ClassicLevel.prototype, 'getSync');
    try {
      for (let i = 0; i < 8; i++) expect(store!.read(P, 'a', 10 + i)?.ts).toBe(10 + i);
      expect(get).toHaveBeenCalledTimes(1);
    } finally {
      get.mockRestore();
    }
  });

  it('the LevelDB store brings whole chains to memory for find, and heads alone for read', async () => {
    await (await open()).commit([...Array(200).keys()].map((i) => put('a', 10 + i)));
    await store!.close();
    await open();
    const [keys, chains] = (['keys', 'chains'] as const).map((kind) => ({ kind, partition: P, keys: ['a', 'absent'] }));
    await store!.prefetch(keys!);
    expect([store!.resident(keys!), store!.resident(chains!)]).toEqual([true, false]);
    await store!.prefetch(chains!);
    expect([store!.resident(keys!), store!.resident(chains!)]).toEqual([true, true]);
    const get = jest.spyOn(ClassicLevel.prototype, 'getSync');
    try {
      for (const wanted of [10, 100, 209]) expect(store!.find(P, 'a', ({ ts }) => ts === wanted)?.ts).toBe(wanted);
      expect(store!.find(P, 'absent', () => true)).toBeUndefined();
      expect(get).not.toHaveBeenCalled();
    } finally {
      get.mockRestore();
    }
  });

  it('the LevelDB store holds each version once when it brings in evicted ones', async () => {
    await open();
    for (let ts = 10; ts < 400; ts++) await store!.commit([put('a', ts)]);
    const needs = { kind: 'chains', partition: P, keys: ['a'] } as const;
    expect(store!.resident(needs)).toBe(false);
    await store!.prefetch(needs);
    const seen: number[] = [];
    store!.find(P, 'a', ({ ts }) => seen.push(ts) === 0);
    expect(seen).toEqual([...Array(390).keys()].map((i) => 399 - i));
  });

  it('the LevelDB store counts dependencies in the memory that the cache takes', async () => {
    await open();
    const deps = Array.from({ length: 1000 }, (_, i) => i);
    await store!.commit([{ kind: 'version', partition: P, key: 'a', version: { ...version(10), deps } }]);
    expect(store!.stats().cache.bytes).toBeGreaterThan(8 * deps.length);
  });

  it('the LevelDB store finds a version deep in a tail of 5,000 with a handful of gets', async () => {
    await (await open()).commit([...Array(5000).keys()].map((i) => put('a', 10 + i)));
    await store!.close();
    await open();
    const get = jest.spyOn(ClassicLevel.prototype, 'getSync');
    try {
      for (const ts of [11, 777, 2500, 4990]) {
        get.mockClear();
        expect(store!.read(P, 'a', ts)?.ts).toBe(ts);
        expect(get.mock.calls.length).toBeLessThanOrEqual(12);
      }
    } finally {
      get.mockRestore();
    }
  });

  it('the LevelDB store writes the head of a key once a checkpoint', async () => {
    await open();
    const begin = jest.spyOn(ClassicLevel.prototype, 'batch');
    try {
      for (let i = 0; i < 6; i++) await store!.commit([put('a', 10 + i)]);
      await store!.close();
      const batches: { readonly length: number }[] = begin.mock.results.map(({ value }) => value);
      // The head, the partition's counters, the mark of the batch, and the position that it covers.
      expect(batches.map(({ length }) => length)).toEqual([4]);
    } finally {
      begin.mockRestore();
    }
  });

  it('the LevelDB store keeps the cache under its limit with data many times larger', async () => {
    const limit = 200_000;
    const value = `"${'x'.repeat(100)}"`;
    await open(limit);
    for (let batch = 0; batch < 50; batch++) {
      await store!.commit([...Array(200).keys()].map((i) => put(`k${batch}/${i}`, 10 + batch, value)));
      expect(store!.stats().cache.bytes).toBeLessThanOrEqual(limit);
    }
    for (let batch = 0; batch < 50; batch++) {
      for (let i = 0; i < 200; i++) expect(store!.read(P, `k${batch}/${i}`, 100)?.ts).toBe(10 + batch);
      for (let i = 0; i < 50; i++) expect(store!.read(P, `absent${batch}/${i}`, 100)).toBeUndefined();
      expect(store!.stats().cache.bytes).toBeLessThanOrEqual(limit);
    }
    expect(store!.stats().partitions.get(P)).toEqual({ keys: 10_000, versions: 10_000 });
  });

  it('the LevelDB store caches keys that are read often and evicts others', async () => {
    await open(100_000);
    await store!.commit([put('hot', 10)]);
    for (let i = 0; i < 2000; i++) {
      store!.read(P, 'hot', 100);
      store!.read(P, `cold${i}`, 100);
    }
    expect(store!.resident({ kind: 'keys', partition: P, keys: ['hot'] })).toBe(true);
    expect(store!.resident({ kind: 'keys', partition: P, keys: ['cold0'] })).toBe(false);
  });

  it('the LevelDB store never caches a chain that a commit has made outdated', async () => {
    await (await open(0)).commit([put('a', 10)]);
    for (let ts = 11; ts < 200; ts++) {
      const early = store!.prefetch({ kind: 'keys', partition: P, keys: ['a'] });
      const commit = store!.commit([put('a', ts)]);
      const late = store!.prefetch({ kind: 'keys', partition: P, keys: ['a'] });
      await Promise.all([early, commit, late]);
      expect(store!.read(P, 'a', 1000)?.ts).toBe(ts);
    }
  });

  it('the LevelDB store removes collected versions, forgotten outcomes and truncated log entries from disk', async () => {
    await open();
    const records: DurableRecord[] = [...Array(400).keys()].flatMap((i) => [
      put('long', 10 + i),
      put(`k${i}`, 10),
      { kind: 'version', partition: P, key: `k${i}`, version: { ...version(20), value: null } },
      // More outcomes of a timestamp than a list names.
      { ...applied(10 + (i % 2), `t${i}`), outcome: { attempt: 0, digest: null } },
    ]);
    await store!.commit(records);
    await store!.recover();
    await store!.commit([
      { kind: 'horizon', partition: P, horizon: 'gcFloor', upTo: 1000 },
      { kind: 'horizon', partition: P, horizon: 'forgottenUpTo', upTo: 1000 },
      { kind: 'horizon', partition: P, horizon: 'logTruncatedUpTo', upTo: 1000 },
    ]);
    const versions = () => store!.stats().partitions.get(P)?.versions;
    for (let i = 0; i < 1000 && versions() !== 1; i++) await new Promise((done) => setImmediate(done));
    // Each occasion does one slice of the remaining work.
    for (let i = 0; i < 10; i++) await store!.commit([{ kind: 'meta', name: 'n', value: i }]);
    await store!.close();
    await onRawDisk(location, async (disk) => {
      const left = (await disk.keys().all()).filter((key) => !/^[bm]\//.test(key));
      expect(left).toEqual(['c0001/', 'v0001/long']);
    });
  });

  it('the LevelDB store leaves nothing on disk of a key whose last version is removed, however long its chain was', async () => {
    await open();
    const all = [...Array(100).keys()].map((i) => 10 + i);
    await store!.commit([...all.map((ts) => put('long', ts)), put('short', 10), put('kept', 10)]);
    await store!.close();
    await (await open()).commit([...all.map((ts) => remove('long', ts)), remove('short', 10)]);
    await store!.close();
    await onRawDisk(location, async (disk) => {
      expect((await disk.keys().all()).filter((key) => !/^[bm]\//.test(key))).toEqual(['c0001/', 'v0001/kept']);
    });
  });

  it('a removal writes the rest of a long chain anew, in segments of its own', async () => {
    await (await open()).commit([...Array(100).keys()].map((i) => put('a', 10 + i)));
    const segments = () => onRawDisk(location, (disk) => disk.keys({ gte: 't', lt: 'u' }).all());
    await store!.close();
    const before = await segments();
    await (await open()).commit([remove('a', 40)]);
    await store!.close();
    const after = await segments();
    expect(after.length).toBe(before.length);
    expect(after.filter((key) => before.includes(key))).toEqual([]);
    await open();
    expect([39, 40, 41].map((ts) => store!.read(P, 'a', ts)?.ts)).toEqual([39, 39, 41]);
  });

  it('a removal of a version that is not there leaves the disk alone', async () => {
    await open();
    await store!.commit([...Array(100).keys()].map((i) => put('a', 10 + i)));
    await store!.close();
    await open();
    const begin = jest.spyOn(ClassicLevel.prototype, 'batch');
    try {
      await store!.commit([remove('a', 5), remove('absent', 5)]);
      await store!.close();
      // The marks of this batch and of the one before, and the position that it covers.
      expect(begin.mock.results.map(({ value }) => value.length)).toEqual([3]);
    } finally {
      begin.mockRestore();
    }
  });

  it('a rising floor visits a chain that a removal has left untidy, and no other', async () => {
    await open();
    const chain = (key: string) => [put(key, 10), put(key, 20), put(key, 30)];
    await store!.commit([...chain('a'), ...chain('b'), ...chain('c')]);
    await store!.commit([
      remove('a', 20),
      remove('b', 20),
      remove('b', 30),
      ...[10, 20, 30].map((ts) => remove('c', ts)),
    ]);
    expect(store!.stats().partitions.get(P)).toEqual({ keys: 2, versions: 3 });
    const versions = () => store!.stats().partitions.get(P)?.versions;
    await store!.commit([{ kind: 'horizon', partition: P, horizon: 'gcFloor', upTo: 100 }]);
    for (let i = 0; i < 100 && versions() !== 2; i++) {
      await store!.commit([{ kind: 'horizon', partition: P, horizon: 'gcFloor', upTo: 101 + i }]);
    }
    await store!.close();
    const counters = await onRawDisk(location, (disk) => disk.get('c0001/'));
    expect(openAs(COUNTERS, counters!, 'c0001/')).toEqual({ keys: 2, versions: 2, untidy: 0, cursor: '' });
  });

  it('the LevelDB store keeps a log entry in memory that is replaced over and over', async () => {
    await open();
    const writes = [{ key: 'a', value: `"${'x'.repeat(100_000)}"` }];
    for (let i = 0; i < 30; i++) await store!.commit([applied(10, 't', writes)]);
    expect(store!.resident({ kind: 'log', partition: P, after: 0, upTo: 100 })).toBe(true);
  });

  it('the LevelDB store reports in one line that the folder is in use, and how to free it', async () => {
    await open();
    const second = openLevelStore({ location, durability: 'memory', cacheBytes: 0 });
    await expect(second).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      message: expect.stringMatching(/^Cannot use the data folder .*: another process uses it\. Stop .*$/),
    });
  });

  it('the LevelDB store makes the folders above its own', async () => {
    const deep = await openLevelStore({ location: join(location, 'a', 'b', 'c'), durability: 'memory', cacheBytes: 0 });
    await deep.close();
  });

  it.each(['file/data', 'file', '/proc/isochron'])(
    'the LevelDB store reports in one line that the folder cannot be made: %s',
    async (where) => {
      await writeFile(join(location, 'file'), '');
      const wrong = openLevelStore({ location: resolve(location, where), durability: 'memory', cacheBytes: 0 });
      await expect(wrong).rejects.toMatchObject({
        code: 'STORAGE_FAILED',
        message: expect.stringMatching(/^Cannot use the data folder .*: .*Choose another folder$/),
      });
    },
  );

  describe('after kill -9', () => {
    let script: string;
    beforeEach(async () => {
      script = await childScript('crash-child.ts', location);
    });
    /** Opens the files that are left, and returns the number of the next batch. */
    const check = async (data: string, acknowledged: number, logged = (last: number) => last + 1) => {
      store = await openLevelStore({ location: data, durability: 'memory', cacheBytes: 2 ** 20 });
      const next = await checkWhole(store, acknowledged, logged);
      await store.close();
      store = undefined;
      return next;
    };

    it('after kill -9 the LevelDB store finds every batch whole or not at all, and every acknowledged one', async () => {
      const data = join(location, 'data');
      let first = 0;
      for (let round = 0; round < 4; round++) {
        const batches = 20 + 17 * round;
        const acknowledged = await runChild(script, [data, String(first)], first, batches);
        first = await check(data, acknowledged);
      }
    }, 60_000);

    it.each(['append', 'checkpoint', 'clear', 'cut', 'segment', 'sync'])(
      'a store that died before or right after a step finds every batch whole or not at all: %s',
      async (step) => {
        const data = join(location, 'data');
        let first = await check(data, await runChild(script, [data, '0'], 0, 20));
        for (const count of [0, 1, 2, 3, 6, 9]) {
          const acknowledged = await runChild(script, [data, String(first), step, String(count)], first);
          // Its batches truncate the log up to the 20th before them.
          first = await check(data, acknowledged, step === 'clear' || step === 'cut' ? () => 21 : undefined);
        }
      },
      60_000,
    );
  });
});

/**
 * Runs the child until it dies, or kills it once it has acknowledged this many batches. Returns the last acknowledged
 * number.
 */
function runChild(
  script: string,
  args: readonly string[],
  first: number,
  batches = Number.POSITIVE_INFINITY,
): Promise<number> {
  return new Promise((done, failed) => {
    const child: ChildProcess = execFile(process.execPath, [script, ...args], { env: CHILD_ENV }, (error) => {
      if (error?.signal === 'SIGKILL') done(last);
      else failed(error ?? new Error('the child ended'));
    });
    let last = first - 1;
    let rest = '';
    child.stdout!.on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop()!;
      if (lines.length > 0) last = Number(lines.at(-1));
      if (last - first >= batches) child.kill('SIGKILL');
    });
  });
}

/**
 * Batch `n` writes version `n + 1` of ten keys and of `latest`, which loses version `n`, a log entry, an outcome and a
 * meta value. Returns the next number.
 * @param logged how many log entries there are after a batch
 */
async function checkWhole(
  store: VersionStore,
  acknowledged: number,
  logged: (last: number) => number,
): Promise<number> {
  const last = (await store.recover()).meta.get('batch') as number;
  expect(last).toBeGreaterThanOrEqual(acknowledged);
  await store.prefetch({ kind: 'log', partition: P, after: 0, upTo: last + 100 });
  const page = store.log(P, 0, last + 100);
  expect(page.groups.length).toBe(logged(last));
  expect(store.outcome(P, `t${last}`)?.ts).toBe(last + 1);
  expect(store.outcome(P, `t${last + 1}`)).toBeUndefined();
  for (let key = 0; key < 10; key++) expect(store.read(P, `k${key}`, last + 100)?.ts).toBe(last + 1);
  for (let n = 0; n <= last; n++) expect(store.read(P, `k${n % 10}`, n + 1)?.ts).toBe(n + 1);
  expect(store.read(P, 'latest', last + 100)?.ts).toBe(last + 1);
  expect(store.read(P, 'latest', last)).toBeUndefined();
  expect(store.stats().partitions.get(P)).toEqual({ keys: 11, versions: 10 * (last + 1) + 1 });
  return last + 1;
}
