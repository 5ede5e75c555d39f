/** Flipped bits, lost parts and lost files of a log: told from the torn end that a crash leaves. */

import { recordAt, recordsAt } from '@isochron/testing/storage/wal/suite';
import { type Image, VirtualDisk } from '@isochron/testing/storage/wal/virtual-disk';
import { CorruptRecord } from '../failure.js';
import { encodeSegmentHeader, SEGMENT_HEADER_BYTES } from './frame.js';
import { openSegmentLog } from './segment-log.js';

/** Of one record of the tests. */
const FRAME_BYTES = 41;
/** Three frames fill a segment. */
const SMALL = { segmentBytes: SEGMENT_HEADER_BYTES + 3 * FRAME_BYTES };

type Files = Map<string, Buffer>;

/** The files of a log with six records in frames of one, in two segments. */
async function sixRecords(): Promise<Files> {
  const disk = new VirtualDisk();
  const log = await openSegmentLog(disk.mount(), SMALL);
  for (let i = 0; i < 6; i++) await log.append([recordAt(i)]);
  await log.close();
  expect(disk.files.size).toBe(2);
  return copyOf(disk.files);
}

const copyOf = (files: Image): Files => new Map([...files].map(([name, content]) => [name, Buffer.from(content)]));

/** Opens the log, and reads all of it. Returns the records that were read, and the error. */
async function readAll(files: Files): Promise<{ read: string[]; error: unknown }> {
  const read: string[] = [];
  try {
    const log = await openSegmentLog(new VirtualDisk(files).mount(), SMALL);
    for await (const { records } of log.read(0))
      read.push(...records.map((record) => Buffer.from(record).toString('latin1')));
    return { read, error: undefined };
  } catch (error) {
    return { read, error };
  }
}

const textsAt = (count: number): string[] => recordsAt(0, count).map((record) => record.toString('latin1'));

/** Every file of a log with every place in it. */
function* placesIn(files: Files): Generator<[string, number]> {
  for (const [name, content] of files) for (let at = 0; at < content.length; at++) yield [name, at];
}

describe('damage of a log', () => {
  let files: Files;
  let [older, newest]: string[] = [];
  beforeEach(async () => {
    files = await sixRecords();
    [older, newest] = [...files.keys()].sort();
  });

  /** No damaged record was read, and the error is always the same. */
  function expectDamage({ read, error }: { read: string[]; error: unknown }, where: unknown): void {
    expect([where, error]).toEqual([where, expect.any(CorruptRecord)]);
    expect(error).toMatchObject({ code: 'STORAGE_FAILED', retryable: false, partition: null });
    expect([where, read]).toEqual([where, textsAt(read.length)]);
  }

  it('a flipped bit of a log is reported as damage, also of the last record, and nothing of it is read', async () => {
    for (const [name, at] of placesIn(files)) {
      for (let bit = 0; bit < 8; bit++) {
        const damaged = copyOf(files);
        damaged.get(name)![at]! ^= 1 << bit;
        expectDamage(await readAll(damaged), [name, at, bit]);
      }
    }
  });

  it('a lost part before a durable record of a log is reported as damage: zeros from any byte to any other', async () => {
    const lastFrame = files.get(newest!)!.length - FRAME_BYTES;
    for (const [name, from] of placesIn(files)) {
      const end = name === newest ? lastFrame : files.get(name)!.length;
      for (const to of [from + 1, from + 7, from + 30, end].filter((to) => to <= end)) {
        const damaged = copyOf(files);
        if (
          damaged
            .get(name)!
            .subarray(from, to)
            .every((byte) => byte === 0)
        )
          continue;
        damaged.get(name)!.fill(0, from, to);
        expectDamage(await readAll(damaged), [name, from, to]);
      }
    }
  });

  it('a segment of a log that ends too early is reported as damage, unless it is the newest', async () => {
    for (let size = 0; size < files.get(older!)!.length; size++) {
      const damaged = copyOf(files);
      damaged.set(older!, damaged.get(older!)!.subarray(0, size));
      expectDamage(await readAll(damaged), size);
    }
  });

  it('a newest segment that ends anywhere behind its header is no damage: the torn record is cut off', async () => {
    const content = files.get(newest!)!;
    for (let size = SEGMENT_HEADER_BYTES; size < content.length; size++) {
      for (const zeros of [0, 1, content.length - size, 600]) {
        const torn = copyOf(files).set(newest!, Buffer.concat([content.subarray(0, size), Buffer.alloc(zeros)]));
        const whole = 3 + Math.floor((size - SEGMENT_HEADER_BYTES) / FRAME_BYTES);
        expect([size, await readAll(torn)]).toEqual([size, { read: textsAt(whole), error: undefined }]);
      }
    }
  });

  it('a lost segment of a log is reported as damage', async () => {
    files.delete(older!);
    expectDamage(await readAll(files), older);
  });

  it('the segment of another place, or of another log, is reported as damage', async () => {
    const swapped = copyOf(files).set(older!, files.get(newest!)!);
    expectDamage(await readAll(swapped), 'swapped');
    const other = await sixRecords();
    expectDamage(await readAll(copyOf(files).set(newest!, other.get(newest!)!)), 'newest of another log');
  });

  it('a segment in another format is refused', async () => {
    const header = encodeSegmentHeader({ format: 2, first: 3, salt: 1, chain: 1 });
    const { error } = await readAll(copyOf(files).set(newest!, header));
    expect(error).toMatchObject({ code: 'STORAGE_FORMAT', message: expect.stringContaining('format 2') });
  });

  it('damage in a record that holds empty sectors is told from a torn end too', async () => {
    const disk = new VirtualDisk();
    const log = await openSegmentLog(disk.mount());
    await log.append([Buffer.concat([Buffer.from('a'), Buffer.alloc(3000), Buffer.from('b')])]);
    const [[name, content]] = [...disk.files] as [[string, Buffer]];
    for (const at of [SEGMENT_HEADER_BYTES + 40, 1500, content.length - 2]) {
      const damaged = Buffer.from(content);
      damaged[at]! ^= 1;
      expect((await readAll(new Map([[name, damaged]]))).error).toBeInstanceOf(CorruptRecord);
    }
    const torn = Buffer.from(content).fill(0, SEGMENT_HEADER_BYTES, 512);
    expect(await readAll(new Map([[name, torn]]))).toEqual({ read: [], error: undefined });
  });

  it('records that hold copies of frames do not make damage of a torn end', async () => {
    const later = await framesOf(6);
    const disk = new VirtualDisk();
    const log = await openSegmentLog(disk.mount());
    for (let i = 0; i < 3; i++) await log.append([recordAt(i)]);
    await log.append([Buffer.alloc(1000, 1), await framesOf(3), later, Buffer.alloc(1000, 1)]);
    const [[name, content]] = [...disk.files] as [[string, Buffer]];
    // The first sector of the last frame is lost, the copies are not.
    const torn = Buffer.from(content).fill(0, SEGMENT_HEADER_BYTES + 3 * FRAME_BYTES, 512);
    expect(await readAll(new Map([[name, torn]]))).toEqual({ read: textsAt(3), error: undefined });
  });

  /** The frames of another log with this many records. */
  async function framesOf(count: number): Promise<Buffer> {
    const disk = new VirtualDisk();
    const log = await openSegmentLog(disk.mount());
    for (let i = 0; i < count; i++) await log.append([recordAt(i)]);
    return [...disk.files.values()][0]!.subarray(SEGMENT_HEADER_BYTES, SEGMENT_HEADER_BYTES + count * FRAME_BYTES);
  }
});
