import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DurableRecord } from '@isochron/core';
import { testFolder } from '@isochron/testing/storage/folder';
import { onRawDisk, spoilRecord } from '@isochron/testing/storage/raw-disk';
import {
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
import { CorruptRecord } from './failure.js';
import { seal, sealHead } from './level/records.js';
import { openLevelStore } from './level-store.js';
import type { VersionStore } from './store.js';

/** One record of every kind. */
const EVERYTHING: readonly DurableRecord[] = [
  ...[...Array(20).keys()].map((i) => put('long', v(10 + i))),
  put('short', v(10)),
  ended('t', outcomeAt(5)),
  logged(8, 'block'),
  { kind: 'prepared', partition: P, txId: 'p', record: prepared },
  { kind: 'meta', name: 'vv/3', value: { virginia: 5 } },
  { kind: 'meta', name: 'ceiling', value: 5 },
  collect(3),
];

const flip = (value: Buffer): Buffer => {
  value[value.length - 1]! ^= 1;
  return value;
};

describe('damage on disk', () => {
  let location: string;
  let store: VersionStore | undefined;
  const open = async () => {
    store = await openLevelStore({ location, durability: 'memory', cacheBytes: 2 ** 20, logTailBytes: 0 });
    return store;
  };
  const close = async () => {
    await store?.close();
    store = undefined;
  };
  beforeEach(async () => {
    location = await testFolder('damage');
    await (await open()).commit(EVERYTHING);
    await close();
  });
  afterEach(async () => {
    await close();
    await rm(location, { recursive: true, force: true });
  });

  const asks: Readonly<Record<string, () => unknown>> = {
    open: () => undefined,
    recover: () => store!.recover(),
    'a read': () => store!.read(P, 'short', FOREVER),
    'a prefetch': () => store!.prefetch({ kind: 'keys', partition: P, keys: ['short'] }),
    'a commit': () => store!.commit([put('short', v(20))]),
    'a read of the past': () => store!.read(P, 'long', 10),
    'a listing': () => store!.prefetch({ kind: 'list', partition: P, range: range(), snapshot: FOREVER }),
    'a listing of the past': () => store!.prefetch({ kind: 'list', partition: P, range: range(), snapshot: 10 }),
    'a prefetch of chains': () => store!.prefetch({ kind: 'chains', partition: P, keys: ['long'] }),
    'a find in the past': () => store!.find(P, 'long', ({ ts }) => ts === 10),
    'a listing of any snapshot': () => store!.prefetch({ kind: 'list', partition: P, range: range(), snapshot: 'any' }),
    'a look for an outcome': () => store!.outcome(P, 't'),
  };
  const ask = async (what: string) => {
    await open();
    return await asks[what]!();
  };

  it.each([
    ['v0003/short', 'a read', 'head', P, 'short'],
    ['v0003/short', 'a prefetch', 'head', P, 'short'],
    ['v0003/short', 'a commit', 'head', P, 'short'],
    ['v0003/short', 'a listing', 'head', P, 'short'],
    ['t0003/long\u00000', 'a read of the past', 'segment', P, 'long'],
    ['t0003/long\u00000', 'a listing of the past', 'segment', P, 'long'],
    ['t0003/long\u00000', 'a prefetch of chains', 'segment', P, 'long'],
    ['t0003/long\u00000', 'a find in the past', 'segment', P, 'long'],
    ['t0003/long\u00000', 'a listing of any snapshot', 'segment', P, 'long'],
    ['o0003/t', 'a look for an outcome', 'outcome', P, 't'],
    ['p0003/p', 'recover', 'prepared', P, 'p'],
    ['c0003/', 'open', 'counters', P, ''],
    ['m/vv/3', 'open', 'meta', P, 'vv/3'],
    ['m/gcFloor/3', 'open', 'meta', P, 'gcFloor/3'],
    ['m/ceiling', 'open', 'meta', null, 'ceiling'],
    ['b/00000000001', 'open', 'batch', null, '1'],
  ])(
    'damage of %j on disk is reported by %s, with kind, partition and key',
    async (diskKey, what, kind, partition, key) => {
      await ask(what);
      await close();
      await spoilRecord(location, diskKey, flip);
      const error = await ask(what).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(CorruptRecord);
      expect(error).toMatchObject({ code: 'STORAGE_FAILED', retryable: false, damage: 'checksum', partition });
      expect(error).toMatchObject({ record: { kind, partition, key, diskKey }, message: expect.stringContaining(key) });
    },
  );

  it('damage of the name of a block is reported by open', async () => {
    const names = await onRawDisk(location, (disk) => disk.keys({ gte: 'h', lt: 'i' }).all());
    expect(names.length).toBe(1);
    await spoilRecord(location, names[0]!, flip);
    await expect(open()).rejects.toMatchObject({
      damage: 'checksum',
      record: { kind: 'logBlock', partition: P, key: '8', diskKey: names[0] },
    });
  });

  it.each([
    ['a missing end', 'truncated', (value: Buffer) => value.subarray(0, 5)],
    ['nothing at all', 'truncated', () => Buffer.alloc(0)],
    ['a changed length', 'checksum', (value: Buffer) => value.subarray(0, value.length - 1)],
  ])('the kinds of damage on disk are told apart: %s is %s', async (_, damage, change) => {
    await spoilRecord(location, 'v0003/short', change);
    await expect(ask('a prefetch')).rejects.toMatchObject({ damage });
  });

  it('a missing record, and the record of another key, are damage on disk', async () => {
    await onRawDisk(location, async (disk) => {
      await disk.del('t0003/long\u00000');
      await disk.put('v0003/short', (await disk.get('v0003/long'))!);
    });
    await expect(ask('a listing of the past')).rejects.toMatchObject({ damage: 'missing', record: { key: 'long' } });
    await close();
    await expect(ask('a prefetch')).rejects.toMatchObject({ damage: 'checksum', record: { key: 'short' } });
  });

  it.each([
    [0, 2 ** 50, 3],
    [3, 1, 0],
    [0, -1, 5],
    [0, 4, 3],
  ])('a head whose segments %i to %i cannot hold %i versions is damage on disk', async (first, last, tailCount) => {
    const head = { first, last, tailCount, versions: [v(10)] };
    await spoilRecord(location, 'v0003/short', () => sealHead(head, 0, 'v0003/short'));
    await expect(ask('a prefetch')).rejects.toMatchObject({ damage: 'malformed', record: { key: 'short' } });
  });

  const malformed = [
    [],
    [-1.5],
    [0.5],
    [2 ** 53],
    ['1'],
    [[1]],
    [null],
    [1, {}],
    [['k', -1, 3]],
    [['k', 0, 3], 4],
    [1, ['k', 0]],
  ];
  it.each(malformed)('a head with malformed dependencies is damage on disk: %j', async (...deps) => {
    const flat = [0, -1, 0, 10, 'tx10', 'virginia', '"10"', deps];
    await spoilRecord(location, 'v0003/short', () => seal(flat, 'v0003/short'));
    await expect(ask('a prefetch')).rejects.toMatchObject({ damage: 'malformed', record: { key: 'short' } });
    expect(() => store!.find(P, 'short', () => true)).toThrow(CorruptRecord);
  });

  it('a segment with malformed dependencies is damage on disk', async () => {
    await onRawDisk(location, async (disk) => {
      await disk.put(
        't0003/long\u00000',
        Buffer.from(seal([10, 'tx10', 'virginia', '1', [-1, 1]], 't0003/long\u00000')),
      );
    });
    for (const [what, kind] of [
      ['a prefetch of chains', 'segment'],
      ['a find in the past', 'segment'],
      ['a listing of any snapshot', 'segment'],
    ] as const) {
      const error = await ask(what).catch((thrown: unknown) => thrown);
      expect([what, error]).toEqual([what, expect.any(CorruptRecord)]);
      expect(error).toMatchObject({ code: 'STORAGE_FAILED', damage: 'malformed', record: { kind } });
      await close();
    }
  });

  it('a prepared transaction with malformed dependencies is damage on disk', async () => {
    await onRawDisk(location, (disk) =>
      disk.put('p0003/p', Buffer.from(seal([7, 'o', 0, 5, 2, [], 'd', 'o-1', [], [-1]], 'p0003/p'))),
    );
    await expect(open()).rejects.toMatchObject({ damage: 'malformed', record: { kind: 'prepared' } });
  });

  it('damage on disk ends the writing: memory and disk may differ', async () => {
    await spoilRecord(location, 'v0003/short', flip);
    await expect(ask('a commit')).rejects.toBeInstanceOf(CorruptRecord);
    await expect(store!.commit([put('other', v(20))])).rejects.toBeInstanceOf(CorruptRecord);
    expect(store!.read(P, 'long', FOREVER)?.ts).toBe(29);
  });

  const spoilFile = async (pattern: RegExp, change: (bytes: Buffer) => Buffer) => {
    const file = join(location, (await readdir(location)).find((name) => pattern.test(name))!);
    await writeFile(file, change(await readFile(file)));
  };

  it.each([
    ['a damaged MANIFEST', () => spoilFile(/^MANIFEST/, (bytes) => bytes.fill(0, 20, 24))],
    ['a damaged CURRENT', () => spoilFile(/^CURRENT/, () => Buffer.from('MANIFEST-000099\n'))],
    ['no CURRENT', () => rm(join(location, 'CURRENT'))],
  ])("damage of LevelDB's own files is found by opening: %s", async (_, spoil) => {
    await spoil();
    await expect(open()).rejects.toBeInstanceOf(CorruptRecord);
    await expect(open()).rejects.toMatchObject({ damage: 'database', record: null, partition: null });
  });

  it('the loss of a batch between two others is found by opening', async () => {
    store = await openLevelStore({ location, durability: 'memory', cacheBytes: 2 ** 20, checkpoint: { bytes: 1 } });
    for (let i = 0; i < 40; i++) await store!.commit([put(`k${i}`, v(10, `"${'x'.repeat(3000)}"`))]);
    await close();
    // In the second of the blocks of 32 KiB: LevelDB drops the rest of the block, and goes on after it.
    await spoilFile(/\.log$/, (bytes) => bytes.fill(0, 50_000, 50_001));
    await expect(open()).rejects.toMatchObject({
      damage: 'database',
      message: expect.stringContaining('lost a batch'),
    });
  });
});
