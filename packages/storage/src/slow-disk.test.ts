/** A store on a slow disk: gates stand for the time, so that no test depends on real time. */
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DurableRecord } from '@isochron/core';
import { testFolder } from '@isochron/testing/storage/folder';
import { Gate, standstill } from '@isochron/testing/storage/gate';
import { FOREVER, P, put, range, v } from '@isochron/testing/storage/suite-fixtures';
import { type Step, VirtualDisk } from '@isochron/testing/storage/wal/virtual-disk';
import { ClassicLevel } from 'classic-level';
import { type Disk, openDisk } from './level/disk.js';
import { openStoreOn } from './level-store.js';
import type { VersionStore } from './store.js';
import { openSegmentLog } from './wal/segment-log.js';

/** No checkpoint unless a test asks for one. */
const NEVER = { bytes: 2 ** 40, ms: 2 ** 30 };

let folder: string;
/** Gates for the steps of the log's files, by kind. */
let gates: Map<Step['kind'], Gate>;
/** The gate of LevelDB's batches. */
let batches: Gate;
let logDisk: VirtualDisk;
const opened: { readonly store: VersionStore; readonly disk: Disk }[] = [];

const gateOf = (kind: Step['kind']): Gate => {
  const gate = gates.get(kind) ?? new Gate();
  gates.set(kind, gate);
  return gate;
};

interface Options {
  readonly checkpoint?: { readonly bytes: number; readonly ms: number };
  readonly cacheBytes?: number;
  readonly segmentBytes?: number;
}

/** Opens the store in a folder, with its log on a disk in memory. */
async function open(
  location = join(folder, 'store'),
  log = logDisk,
  { checkpoint = NEVER, cacheBytes = 2 ** 20, segmentBytes = 2 ** 20 }: Options = {},
): Promise<VersionStore> {
  const disk = await openDisk(location, 2 ** 20, 2 ** 20);
  const files = log.mount(({ kind }) => gates.get(kind)?.pass());
  const options = { location, durability: 'memory', cacheBytes, checkpoint } as const;
  const store = await openStoreOn(disk, () => openSegmentLog(files, { segmentBytes }), options);
  opened.push({ store, disk });
  return store;
}

/** Makes LevelDB's writes wait. */
function holdBatches(): void {
  const begin = ClassicLevel.prototype.batch;
  jest.spyOn(ClassicLevel.prototype, 'batch').mockImplementation(function (this: ClassicLevel) {
    const batch = begin.call(this);
    const write = batch.write.bind(batch);
    batch.write = (async (options: object) => {
      await batches.pass();
      return write(options);
    }) as never;
    return batch as never;
  });
}

/** Commits versions of new keys, and notes which are acknowledged. */
class Committer {
  readonly acknowledged: number[] = [];
  readonly commits: Promise<unknown>[] = [];

  constructor(readonly store: VersionStore) {}

  start(count: number, value?: string): void {
    for (let i = 0; i < count; i++) {
      const number = this.commits.length;
      const records: DurableRecord[] = [put(`k${number}`, v(10 + number, value)), put('all', v(10 + number))];
      this.commits.push(this.store.commit(records).then(() => this.acknowledged.push(number)));
    }
  }

  /** One commit after the other, until one waits. Returns how many were acknowledged. */
  async untilOneWaits(limit: number, value?: string): Promise<number> {
    while (this.acknowledged.length < limit) {
      this.start(1, value);
      await standstill();
      if (this.acknowledged.length < this.commits.length) break;
    }
    return this.acknowledged.length;
  }

  get inOrder(): number[] {
    return this.commits.map((_, i) => i);
  }
}

const keysIn = (store: VersionStore, count: number): (number | undefined)[] =>
  Array.from({ length: count }, (_, i) => store.read(P, `k${i}`, FOREVER)?.ts);
const times = (count: number): number[] => Array.from({ length: count }, (_, i) => 10 + i);

beforeEach(async () => {
  folder = await testFolder('slow');
  gates = new Map();
  batches = new Gate();
  logDisk = new VirtualDisk();
});
afterEach(async () => {
  for (const gate of [...gates.values(), batches]) gate.open();
  for (const { store } of opened.splice(0)) await store.close();
  jest.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

describe('a store whose log takes long to sync', () => {
  it('a store with a slow log acknowledges nothing before its sync, then all commits in their order, by one more write', async () => {
    const store = await open();
    const committer = new Committer(store);
    let writes = 0;
    const sync = gateOf('sync');
    sync.close();
    committer.start(1);
    await sync.arrival();
    committer.start(20);
    await standstill();
    expect([committer.acknowledged, store.stats().commits.waiting]).toEqual([[], 21]);
    const write = gateOf('write');
    write.pass = async () => {
      writes++;
    };
    sync.open();
    await Promise.all(committer.commits);
    expect(committer.acknowledged).toEqual(committer.inOrder);
    expect(writes).toBe(1);
  });

  it('a store with a slow log serves reads and prefetches meanwhile, of waiting batches too', async () => {
    const store = await open();
    await store.commit([put('cold', v(5)), put('other', v(5))]);
    await store.recover();
    const sync = gateOf('sync');
    sync.close();
    const committer = new Committer(store);
    committer.start(3);
    await sync.arrival();
    for (let i = 0; i < 3; i++) {
      expect(keysIn(store, 3)).toEqual(times(3));
      await store.prefetch({ kind: 'keys', partition: P, keys: ['cold', 'absent'] });
      await store.prefetch({ kind: 'chains', partition: P, keys: ['other'] });
      expect(store.read(P, 'cold', FOREVER)?.ts).toBe(5);
      expect(store.find(P, 'other', () => true)?.ts).toBe(5);
    }
    expect(committer.acknowledged).toEqual([]);
  });

  it('a store with a slow log shows a listing once the commits before it are durable, and not earlier', async () => {
    const store = await open();
    const sync = gateOf('sync');
    sync.close();
    new Committer(store).start(2);
    let isRead = false;
    const prefetch = store
      .prefetch({ kind: 'list', partition: P, range: range(), snapshot: FOREVER })
      .then(() => (isRead = true));
    await sync.arrival();
    await standstill();
    expect(isRead).toBe(false);
    sync.open();
    await prefetch;
    expect(store.list(P, range(), FOREVER).entries.map(({ key }) => key)).toEqual(['all', 'k0', 'k1']);
  });

  it('a store with a slow log waits in close for the batches on their way, and leaves all of them to the next start', async () => {
    const store = await open();
    const committer = new Committer(store);
    const sync = gateOf('sync');
    sync.close();
    committer.start(5);
    let isClosed = false;
    const closed = store.close().then(() => (isClosed = true));
    await sync.arrival();
    await standstill();
    expect([isClosed, committer.acknowledged]).toEqual([false, []]);
    await expect(store.commit([])).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    sync.open();
    await Promise.all([...committer.commits, closed]);
    expect(committer.acknowledged).toEqual(committer.inOrder);
    expect(keysIn(await open(), 5)).toEqual(times(5));
  });

  it('a store with a slow log loses nothing acknowledged in a power failure, and keeps a prefix of the rest', async () => {
    const store = await open();
    const committer = new Committer(store);
    committer.start(4);
    await Promise.all(committer.commits);
    const sync = gateOf('sync');
    sync.close();
    committer.start(1);
    await sync.arrival();
    committer.start(3);
    const images = [...logDisk.afterPowerFailure('some')];
    gates = new Map();
    let number = 0;
    for (const image of images) {
      const left = join(folder, `left${number++}`);
      await cp(join(folder, 'store'), left, { recursive: true });
      const survivor = await open(left, new VirtualDisk(image));
      const found = keysIn(survivor, 8).filter((ts) => ts !== undefined);
      expect([number, found.slice(0, 4)]).toEqual([number, times(4)]);
      expect([number, found]).toEqual([number, times(found.length)]);
      expect(survivor.read(P, 'all', FOREVER)?.ts).toBe(found.at(-1));
    }
    expect(number).toBeGreaterThan(2);
    sync.open();
    await Promise.all(committer.commits);
  });
});

describe('a store whose checkpoints take long', () => {
  const BOUND = 2000;
  const checkpoint = { bytes: BOUND, ms: 2 ** 30 };
  const value = `"${'x'.repeat(300)}"`;

  it('commits wait when the log is two checkpoints ahead, and reads go on', async () => {
    holdBatches();
    const store = await open(undefined, undefined, { checkpoint });
    batches.close();
    const committer = new Committer(store);
    const before = await committer.untilOneWaits(1000, value);
    // Each takes some 400 bytes of the log: one bound until the checkpoint begins, two more while it waits.
    expect(before).toBeGreaterThan(BOUND / 400);
    expect(before).toBeLessThan((4 * BOUND) / 300);
    expect(batches.waiting).toBe(1);
    committer.start(5, value);
    await standstill();
    expect(committer.acknowledged).toHaveLength(before);
    expect(keysIn(store, before + 6)).toEqual(times(before + 6));
    batches.open();
    await Promise.all(committer.commits);
    expect(committer.acknowledged).toEqual(committer.inOrder);
    await store.close();
    expect(keysIn(await open(), before + 6)).toEqual(times(before + 6));
  });

  it('commits wait when chains that wait for a checkpoint fill half of the cache, and not earlier', async () => {
    holdBatches();
    const store = await open(undefined, undefined, { cacheBytes: 40_000 });
    const committer = new Committer(store);
    // Chains that no checkpoint needs make room for others.
    committer.start(40, value);
    await Promise.all(committer.commits);
    await store.recover();
    keysIn(store, 40);
    batches.close();
    const before = (await committer.untilOneWaits(1000, value)) - 40;
    expect(before).toBeGreaterThan(15);
    expect(before).toBeLessThan(25);
    expect(store.stats().cache.bytes).toBeLessThan(40_000);
    expect(batches.waiting).toBe(1);
    batches.open();
    await Promise.all(committer.commits);
    expect(committer.acknowledged).toEqual(committer.inOrder);
  });

  it('a caller that waits for a checkpoint finds everything in LevelDB, also when another checkpoint is only beginning', async () => {
    holdBatches();
    const store = await open();
    await store.commit([{ kind: 'meta', name: 'n', value: 7 }]);
    batches.close();
    const waits = [store.recover(), store.recover()];
    await batches.arrival();
    waits.push(store.recover());
    // Without a wait they would read LevelDB now.
    await Promise.race([...waits, new Promise((done) => setTimeout(done, 50))]);
    batches.open();
    expect((await Promise.all(waits)).map(({ meta }) => meta.get('n'))).toEqual([7, 7, 7]);
  });

  it('a store commits while the log is being cut', async () => {
    const store = await open(undefined, undefined, { checkpoint, segmentBytes: 500 });
    const remove = gateOf('remove');
    remove.close();
    const committer = new Committer(store);
    // Enough for one checkpoint, and not for two.
    for (; committer.commits.length < BOUND / 300; await standstill()) committer.start(1, value);
    await Promise.all([...committer.commits, remove.arrival()]);
    const before = committer.acknowledged.length;
    const after = await committer.untilOneWaits(1000, value);
    expect(after).toBeGreaterThan(before);
    // Until the next checkpoint, which waits for the cut, is overdue.
    expect(after).toBeLessThan(before + (4 * BOUND) / 300);
    remove.open();
    await Promise.all(committer.commits);
  });

  it('the close of a store waits for the checkpoint on its way, and for the last one', async () => {
    holdBatches();
    const store = await open(undefined, undefined, { checkpoint });
    batches.close();
    const committer = new Committer(store);
    committer.start(8, value);
    await batches.arrival();
    let isClosed = false;
    const closed = store.close().then(() => (isClosed = true));
    await standstill();
    expect(isClosed).toBe(false);
    batches.open();
    await Promise.all([...committer.commits, closed]);
    expect(committer.acknowledged).toEqual(committer.inOrder);
    expect(keysIn(await open(), 8)).toEqual(times(8));
  });
});
