/** The files of blocks: their content after a kill or a power failure at any step, their removal, and damage. */
import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DurableRecord } from '@isochron/core';
import { testFolder } from '@isochron/testing/storage/folder';
import { onRawDisk } from '@isochron/testing/storage/raw-disk';
import { logged, P, received } from '@isochron/testing/storage/suite-fixtures';
import { type Image, VirtualDisk } from '@isochron/testing/storage/wal/virtual-disk';
import { CorruptRecord } from '../failure.js';
import type { BlockPlace } from '../level/disk-keys.js';
import { openLevelStore } from '../level-store.js';
import type { VersionStore } from '../store.js';
import type { LogFolder } from '../wal/files.js';
import { BlockFiles } from './block-files.js';

const NEVER = new Promise<never>(() => undefined);
const OPTIONS = { fileBytes: 300, sync: true };

/** The blocks of a run that have a name, as LevelDB would hold them. */
type Named = Map<number, BlockPlace>;

const bytesOf = (block: number): Buffer => Buffer.alloc(50 + block, block);

/** Writes blocks, two at a time; drops the first four and their file, and goes on in a process of its own. */
async function run(folder: LogFolder, named: Named): Promise<void> {
  for (const first of [1, 9]) {
    const files = await BlockFiles.open(folder, [...named.values()], OPTIONS);
    for (let block = first; block < first + 8; block += 2) {
      const places = [block, block + 1].map((each) => [each, files.add(bytesOf(each))] as const);
      await files.persist();
      for (const [each, place] of places) named.set(each, place);
      for (const [, place] of places) files.named(place);
    }
    for (let block = first; block < first + 4; block++) {
      files.unnamed(named.get(block)!);
      named.delete(block);
    }
    await files.removeUnused();
    await files.close();
  }
}

/** The disk and the named blocks when the step of that number does not begin. */
async function runUntil(step: number) {
  const disk = new VirtualDisk();
  const named: Named = new Map();
  let steps = 0;
  let died = false;
  await new Promise<void>((resolve) => {
    const folder = disk.mount(() => {
      if (steps++ < step) return undefined;
      died = true;
      resolve();
      return NEVER;
    });
    void run(folder, named).then(resolve);
  });
  return { disk, named, died };
}

/** Opens what is left, reads every named block, and writes one more. */
async function check(image: Image, named: Named): Promise<void> {
  const disk = new VirtualDisk(image);
  const files = await BlockFiles.open(disk.mount(), [...named.values()], OPTIONS);
  for (const [block, place] of named) expect(await files.read(place)).toEqual(bytesOf(block));
  const place = files.add(bytesOf(100));
  await files.persist();
  expect(await files.read(place)).toEqual(bytesOf(100));
  await files.close();
  const kept = new Set([...named.values(), place].map(({ file }) => file));
  expect(disk.files.size).toBe(kept.size);
}

describe('the files of blocks', () => {
  it('the files of blocks hold every named block after a kill or a power failure at any step', async () => {
    let states = 0;
    for (let step = 0; ; step++) {
      const { disk, named, died } = await runUntil(step);
      for (const image of [disk.files, ...disk.afterPowerFailure('some')]) {
        await check(image, named);
        states++;
      }
      if (!died) break;
    }
    expect(states).toBeGreaterThan(100);
  });
});

describe('the blocks of a store', () => {
  let location: string;
  let store: VersionStore | undefined;
  const checkpoint = { bytes: 2 ** 40, ms: 2 ** 30 };
  const open = async () => {
    const options = { location, durability: 'memory', cacheBytes: 2 ** 20, logTailBytes: 0 } as const;
    store = await openLevelStore({ ...options, segmentBytes: 1000, checkpoint });
    return store;
  };
  const close = async () => {
    await store?.close();
    store = undefined;
  };
  const ust = (value: number): DurableRecord => ({ kind: 'meta', name: 'ust', value });
  const truncateLog = (upTo: number): DurableRecord => ({
    kind: 'horizon',
    partition: P,
    horizon: 'logTruncatedUpTo',
    upTo,
  });
  const changes = async () => {
    await store!.prefetch({ kind: 'changes', partition: P, after: 0, upTo: 1000 });
    return store!.changes(P, 0, 1000).changes.map(({ ct }) => ct);
  };
  const files = () => readdir(join(location, 'blocks'));
  const onlyFile = async () => join(location, 'blocks', (await files())[0]!);
  /** One checkpoint for each of some entries of about 400 bytes, and their timestamps. */
  const fill = async (from: number, count: number) => {
    for (let ct = from; ct < from + count; ct++) {
      const value = `"${'x'.repeat(400)}"`;
      await store!.commit([ct % 2 === 0 ? logged(ct, `t${ct}`, value) : received(ct, `t${ct}`, value), ust(ct)]);
      await store!.recover();
    }
    return Array.from({ length: count }, (_, i) => from + i);
  };

  beforeEach(async () => {
    location = await testFolder('blocks');
    await open();
  });
  afterEach(async () => {
    await close();
    await rm(location, { recursive: true, force: true });
  });

  it('LevelDB holds the names of blocks alone', async () => {
    await fill(10, 6);
    await close();
    const stored = await onRawDisk(location, (disk) => disk.iterator().all());
    const ofLog = stored.filter(([key]) => /^[hlr]/.test(key));
    expect(ofLog.map(([key, value]) => [key[0], value.length < 10])).toEqual(Array(6).fill(['h', true]));
  });

  it('a file goes when all of its blocks are truncated, and no earlier', async () => {
    const all = await fill(10, 12);
    const before = await files();
    expect(before.length).toBeGreaterThan(3);
    await store!.commit([truncateLog(15)]);
    await store!.recover();
    expect(await changes()).toEqual(all.slice(6));
    const after = await files();
    expect(after).toEqual(before.slice(2));
    await store!.commit([truncateLog(100)]);
    await store!.recover();
    expect((await files()).length).toBeLessThanOrEqual(1);
  });

  it('names that a crash has brought back, of blocks whose file is gone, are not followed', async () => {
    const all = await fill(10, 12);
    await close();
    const names = await onRawDisk(location, (disk) => disk.iterator({ gte: 'h', lt: 'i' }).all());
    await open();
    await store!.commit([truncateLog(15)]);
    await close();
    await onRawDisk(location, async (disk) => {
      for (const [key, value] of names) await disk.put(key, value);
    });
    await open();
    expect(await changes()).toEqual(all.slice(6));
    await store!.commit([truncateLog(100)]);
    await close();
    expect(await files()).toEqual([]);
  });

  it('a page that is read while its blocks are truncated has the others', async () => {
    const all = await fill(10, 12);
    const reading = changes();
    const truncating = store!.commit([truncateLog(15)]).then(() => store!.recover());
    const [read] = await Promise.all([reading, truncating]);
    expect(read.slice(-6)).toEqual(all.slice(6));
    expect(await changes()).toEqual(all.slice(6));
  });

  it('a block with flipped bits or without its end is damage, which its reader reports', async () => {
    await fill(10, 2);
    await close();
    const file = await onlyFile();
    const bytes = await readFile(file);
    for (const spoil of [
      () =>
        writeFile(
          file,
          bytes.map((byte, i) => (i === 50 ? byte ^ 4 : byte)),
        ),
      () => truncate(file, bytes.length - 1),
      () => truncate(file, 3),
    ]) {
      await writeFile(file, bytes);
      await spoil();
      await open();
      const error = await changes().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(CorruptRecord);
      expect(error).toMatchObject({ partition: P, record: { kind: 'logBlock' } });
      await close();
    }
  });

  it('a file with named blocks that is gone is damage, which the start reports', async () => {
    await fill(10, 2);
    await close();
    await rm(await onlyFile());
    await expect(open()).rejects.toMatchObject({ code: 'STORAGE_FAILED', damage: 'missing' });
  });
});
