/**
 * Records of LevelDB: every read of a damaged record fails with the record's name, and all other reads are unaffected.
 */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DurableRecord, firstMap, IsochronError, isTimestamp } from '@isochron/core';
import { CorruptRecord, openLevelStore, PLACEMENT_FILE, type VersionStore, verifyPlacement } from '@isochron/storage';
import { crc32Portable } from '@isochron/storage/crc32';
import { FOLDER_FORMAT, LOGGED, openAs, openHead, openSegment, seal, unseal } from '@isochron/storage/level/records';
import { onRawDisk } from '@isochron/testing/storage/raw-disk';
import {
  collect,
  dependent,
  ended,
  FOREVER,
  LOGGED_KEY,
  logged,
  outcomeAt,
  P,
  prepared,
  put,
  range,
  v,
} from '@isochron/testing/storage/suite-fixtures';
import fc from 'fast-check';
import { largestAllocation } from './allocations.js';
import { damaged, damages, GIANT_HEADERS } from './damage.js';
import { fuzz } from './fuzz.js';
import { hostileValue } from './hostile.js';

/** Every kind of record, in two partitions. */
const CONTENT: readonly DurableRecord[] = [
  ...[...Array(60).keys()].map((i) => put('long', v(10 + i, `"${'x'.repeat(i * 3)}"`))),
  ...[...Array(6).keys()].map((i) => put(`k${i}`, v(10 + i))),
  put('bytes', v(12, Uint8Array.of(0, 1, 255))),
  put('gone', v(12)),
  put('gone', v(13, null)),
  put('k0', v(11), P + 1),
  ended('t1', outcomeAt(5)),
  ended('t2', { status: 'aborted', ts: 6, attempt: 1, digest: null }),
  ...[5, 6, 7].map((ct) => logged(ct)),
  logged(5, 'tx5', '"x"', P + 1),
  put('dependent', dependent(12, [5, 2 ** 52])),
  put('dependent', v(13)),
  {
    kind: 'applied',
    partition: P,
    ct: 8,
    tx: { txId: 'tx8', writes: [], deps: [5, 2 ** 52] },
    region: 'virginia',
    log: 'own',
  },
  { kind: 'prepared', partition: P, txId: 'p1', record: prepared },
  { kind: 'prepared', partition: P + 1, txId: 'p2', record: { ...prepared, writes: [], deps: [5] } },
  { kind: 'meta', name: `vv/${P}`, value: { virginia: 5, oregon: 2 ** 52 } },
  { kind: 'meta', name: 'ceiling', value: 5 },
  collect(3),
];

/** Every query of a node to its store. A failed opening is an answer too. */
const QUESTIONS: Readonly<Record<string, (store: VersionStore) => unknown>> = {
  recover: (store) => store.recover(),
  ...Object.fromEntries(
    ['long', 'k0', 'k1', 'k5', 'bytes', 'gone', 'absent'].flatMap((key) =>
      [10, 12, 40, FOREVER].map((ts) => [`read ${key} at ${ts}`, (store: VersionStore) => store.read(P, key, ts)]),
    ),
  ),
  'find a dependent version': (store) => store.find(P, 'dependent', ({ deps }) => deps !== undefined),
  'find in the past': (store) => store.find(P, 'long', ({ ts }) => ts === 11),
  'list any snapshot': async (store) => {
    await store.prefetch({ kind: 'list', partition: P, range: range(), snapshot: 'any' });
    return store.list(P, range(), ({ deps }) => deps !== undefined);
  },
  'read the other partition': (store) => store.read(P + 1, 'k0', FOREVER),
  'read a logged write of it': (store) => store.read(P + 1, LOGGED_KEY, FOREVER),
  'outcome t1': (store) => store.outcome(P, 't1'),
  'outcome t2': (store) => store.outcome(P, 't2'),
  'no outcome': (store) => store.outcome(P, 't3'),
  list: (store) => list(store, FOREVER),
  'list the past': (store) => list(store, 11),
  log: (store) => log(store, P),
  'the other log': (store) => log(store, P + 1),
  copy: async (store) => {
    await store.prefetch({ kind: 'copy', partition: P, start: '' });
    return store.copy(P, '');
  },
};

async function list(store: VersionStore, snapshot: number): Promise<unknown> {
  await store.prefetch({ kind: 'list', partition: P, range: range(), snapshot });
  return store.list(P, range(), snapshot);
}

async function log(store: VersionStore, partition: number): Promise<unknown> {
  await store.prefetch({ kind: 'log', partition, after: 0, upTo: 9 });
  return store.log(partition, 0, 9);
}

type Answers = Readonly<Record<string, unknown>>;

describe('records on disk', () => {
  let folder: string;
  let sound: string;
  let keys: string[];
  let truth: Answers;
  let runs = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'isochron-fuzz-'));
    sound = join(folder, 'sound');
    const store = await open(sound);
    await store.commit(CONTENT);
    await store.close();
    keys = await onRawDisk(sound, (disk) => disk.keys().all());
    truth = await answers(sound);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const open = (location: string) =>
    openLevelStore({ location, durability: 'memory', cacheBytes: 2 ** 20, logTailBytes: 0 });

  /** The answer to each query; `CorruptRecord` is an answer, every other error is not. */
  async function answers(location: string): Promise<Answers> {
    let store: VersionStore;
    try {
      store = await open(location);
    } catch (error) {
      return { open: corrupt(error) };
    }
    const given: Record<string, unknown> = {};
    for (const [question, ask] of Object.entries(QUESTIONS)) {
      try {
        given[question] = await ask(store);
      } catch (error) {
        given[question] = corrupt(error);
      }
    }
    await store.close();
    return given;
  }

  function corrupt(error: unknown): CorruptRecord {
    if (error instanceof CorruptRecord) return error;
    throw error;
  }

  /** Spoils a copy of the sound database, and returns its answers. */
  async function spoilt(
    spoil: (values: Map<string, Buffer>) => Iterable<readonly [string, Uint8Array]>,
  ): Promise<Answers> {
    const location = join(folder, `run-${runs++}`);
    await cp(sound, location, { recursive: true });
    try {
      await onRawDisk(location, async (disk) => {
        const values = new Map(await disk.iterator().all());
        for (const [key, value] of spoil(values)) await disk.put(key, Buffer.from(value));
      });
      return await answers(location);
    } finally {
      await rm(location, { recursive: true, force: true });
    }
  }

  /** Every answer is correct, or names one of these records as damaged; at least one names it. */
  function blames(given: Answers, spoiltKeys: readonly string[]): CorruptRecord[] {
    const blamed = Object.values(given).filter((answer) => answer instanceof CorruptRecord);
    for (const { record } of blamed) expect(spoiltKeys).toContain(record?.diskKey);
    for (const [question, answer] of Object.entries(given)) {
      if (!(answer instanceof CorruptRecord)) expect([question, answer]).toEqual([question, truth[question]]);
    }
    expect(blamed.length).toBeGreaterThan(0);
    return blamed;
  }

  it('the sample has records of every kind, and answers every query when nothing is wrong', () => {
    expect(new Set(keys.map((key) => key[0]))).toEqual(new Set('bchmoptvx'));
    // One list with both outcomes.
    expect(keys.filter((key) => key.startsWith('x'))).toHaveLength(1);
    expect(Object.values(truth).filter((answer) => answer instanceof CorruptRecord)).toEqual([]);
    expect(truth['read bytes at 12']).toMatchObject({ value: Buffer.of(0, 1, 255) });
  });

  fuzz('damaged records are named by every query that needs them', 60, [fc.nat(), damages], async (pick, changes) => {
    const key = pickOf(pick);
    let same = false;
    const given = await spoilt((values) => {
      const value = damaged(values.get(key)!, changes);
      same = values.get(key)!.equals(value);
      return [[key, value]];
    });
    if (!same) blames(given, [key]);
  });

  const pickOf = (pick: number): string => {
    const sealed = keys.filter((key) => !key.startsWith('x'));
    return sealed[pick % sealed.length]!;
  };

  fuzz('records with the value of another key are named', 40, [fc.nat(), fc.nat()], async (one, two) => {
    const [a, b] = [pickOf(one), pickOf(two)];
    fc.pre(a !== b);
    const given = await spoilt((values) => [
      [a, values.get(b)!],
      [b, values.get(a)!],
    ]);
    for (const { damage } of blames(given, [a, b])) expect(damage).toBe('checksum');
  });

  fuzz(
    'records of an unknown format are named as such',
    30,
    [fc.nat(), fc.integer({ min: 2, max: 255 })],
    async (pick, format) => {
      const key = pickOf(pick);
      fc.pre(key !== 'm/checkpoint' || format !== FOLDER_FORMAT);
      const given = await spoilt((values) => {
        const value = Buffer.from(values.get(key)!);
        value[4] = format;
        value.writeUInt32LE(crc32Portable(value.subarray(4), crc32Portable(key)), 0);
        return [[key, value]];
      });
      for (const { damage, code, message } of blames(given, [key])) {
        expect([damage, code]).toEqual(['version', 'STORAGE_FORMAT']);
        expect(message).toContain(`has format ${format}`);
      }
    },
  );

  const asLogged = (bytes: Buffer, key: string) => openAs(LOGGED, bytes, key);

  fuzz(
    'records with a valid seal around nonsense are refused, or have the declared shape',
    500,
    [hostileValue],
    (value) => {
      const bytes = Buffer.from(seal(value, 'v0003/a'));
      const opened = <T>(opener: (bytes: Buffer, key: string) => T): T | undefined => {
        try {
          return opener(bytes, 'v0003/a');
        } catch (error) {
          expect(corrupt(error)).toMatchObject({
            damage: 'malformed',
            record: { kind: 'head', partition: P, key: 'a' },
          });
          return undefined;
        }
      };
      for (const { ts, txId } of opened(openHead)?.versions ?? [])
        expect([isTimestamp(ts), typeof txId]).toEqual([true, 'string']);
      for (const { ts, txId } of opened(openSegment) ?? [])
        expect([isTimestamp(ts), typeof txId]).toEqual([true, 'string']);
      for (const write of opened(asLogged)?.writes ?? []) expect(typeof write.key).toBe('string');
    },
  );

  it.each(GIANT_HEADERS.map((header) => [Buffer.from(header).toString('hex'), header] as const))(
    'records that declare more than they hold (%s) are refused before memory is allocated',
    (_, header) => {
      const bytes = Buffer.concat([Buffer.of(0, 0, 0, 0, 1), header]);
      bytes.writeUInt32LE(crc32Portable(bytes.subarray(4), crc32Portable('v0003/a')), 0);
      for (const opener of [unseal, openHead, openSegment, asLogged]) {
        const asked = largestAllocation(() => expect(() => opener(bytes, 'v0003/a')).toThrow(CorruptRecord));
        expect(asked).toBeLessThan(255);
      }
    },
  );

  fuzz('a damaged placement file is refused, or still names its owner', 60, [damages], async (changes) => {
    const location = join(folder, `run-${runs++}`);
    const map = firstMap({
      regions: [{ id: 'virginia', nodes: [{ id: 'virginia-1' }] }],
      keyspaces: [{ name: 'default', partitions: 1 }],
    });
    const placement = { clusterId: 'c1', protocol: 'paris', node: 'virginia-1', map };
    await verifyPlacement(location, placement);
    const file = join(location, PLACEMENT_FILE);
    await writeFile(file, damaged(await readFile(file), changes));
    const outcome = await verifyPlacement(location, placement).catch((error: unknown) => error);
    if (outcome instanceof IsochronError)
      expect(['STORAGE_FAILED', 'STORAGE_FORMAT', 'PLACEMENT_MISMATCH']).toContain(outcome.code);
    else expect(outcome).toEqual({ storeId: expect.any(String) });
  });
});
