/** A log on a disk that is full, that fails, or that is slow. */

import { Gate, standstill } from '@isochron/testing/storage/gate';
import { recordAt, recordsAt, textsFrom } from '@isochron/testing/storage/wal/suite';
import { type Step, systemError, VirtualDisk } from '@isochron/testing/storage/wal/virtual-disk';
import { isOutOfRoom } from '../failure.js';
import type { DurableLog } from './durable-log.js';
import { SEGMENT_HEADER_BYTES } from './frame.js';
import { openSegmentLog } from './segment-log.js';

/** Two frames of one record fill a segment. */
const SMALL = { segmentBytes: SEGMENT_HEADER_BYTES + 2 * 41 };

const FULL = systemError('ENOSPC', 'no space left on device');
const BROKEN = systemError('EIO', 'i/o error');

const textsAt = (count: number) => recordsAt(0, count).map((record, i) => [i, record.toString('latin1')]);

/** Appends one record after the other, cuts, and returns how many were acknowledged, with the first error. */
async function run(log: DurableLog, count: number): Promise<{ acknowledged: number; error: unknown }> {
  let acknowledged = log.end;
  try {
    for (; acknowledged < count; acknowledged++) await log.append([recordAt(acknowledged)]);
    await log.cut(3);
    return { acknowledged, error: undefined };
  } catch (error) {
    return { acknowledged, error };
  }
}

describe('a log on a disk that fails', () => {
  /** A log on a disk whose step of that number fails. */
  async function failingAt(number: number, failure: Error) {
    const disk = new VirtualDisk();
    let steps = 0;
    let failed: Step | undefined;
    const folder = disk.mount((step) => {
      if (steps++ !== number) return;
      failed = step;
      throw failure;
    });
    const opened = await openSegmentLog(folder, SMALL).catch((error: unknown) => ({ error }));
    if ('error' in opened) return { disk, failed, log: undefined, acknowledged: 0, error: opened.error };
    return { disk, log: opened, ...(await run(opened, 6)), failed: failed as Step | undefined };
  }

  it.each([
    ['is full', FULL, 'STORAGE_FULL'],
    ['reports an error', BROKEN, 'STORAGE_FAILED'],
  ])('a log whose disk %s at any step refuses everything after that, and loses nothing acknowledged', async (...at) => {
    const [, failure, code] = at;
    const kinds = new Set<string>();
    for (let step = 0; ; step++) {
      const { disk, log, acknowledged, error, failed } = await failingAt(step, failure);
      if (failed === undefined) break;
      kinds.add(failed.kind);
      expect([step, error]).toEqual([step, expect.objectContaining({ code, retryable: true })]);
      expect(isOutOfRoom(error)).toBe(failure === FULL);
      await expect(log?.append([recordAt(99)]) ?? Promise.reject(error)).rejects.toBe(error);
      await log?.close();
      // After room was made; also when the power fails right after the log was opened anew.
      const again = await openSegmentLog(disk.mount(), SMALL);
      const { first, end } = again;
      expect([step, end]).toEqual([step, acknowledged === end ? end : acknowledged + 1]);
      for (const image of disk.afterPowerFailure('some')) {
        const later = await openSegmentLog(new VirtualDisk(image).mount(), SMALL);
        expect([step, await textsFrom(later, first)]).toEqual([step, textsAt(end).slice(first)]);
      }
      expect(await run(again, 8)).toEqual({ acknowledged: 8, error: undefined });
    }
    expect([...kinds].sort()).toEqual(['create', 'list', 'remove', 'rename', 'sync', 'syncFolder', 'write']);
  });

  it('a log reports an error of a read as such, and not as damage', async () => {
    const disk = new VirtualDisk();
    await run(await openSegmentLog(disk.mount(), SMALL), 3);
    const folder = disk.mount(({ kind }) => {
      if (kind === 'read') throw BROKEN;
    });
    const error = await openSegmentLog(folder).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'STORAGE_FAILED', retryable: true, cause: BROKEN });
    expect(await textsFrom(await openSegmentLog(disk.mount(), SMALL), 2)).toEqual([[2, 'record 2']]);
  });
});

describe('a log on a slow disk', () => {
  it('a log on a slow disk gathers the appends during a sync into one write, acknowledges nothing early, and waits in close', async () => {
    const steps: string[] = [];
    let slow = false;
    const syncs: (() => void)[] = [];
    const folder = new VirtualDisk().mount(async ({ kind }) => {
      if (!slow) return;
      steps.push(kind);
      if (kind === 'sync') await new Promise<void>((resolve) => syncs.push(resolve));
    });
    const syncNumber = async (number: number) => {
      while (syncs.length < number) await new Promise((done) => setImmediate(done));
    };
    const log = await openSegmentLog(folder);
    await log.append([recordAt(0)]);
    slow = true;
    const acknowledged: number[] = [];
    const append = (position: number) => log.append([recordAt(position)]).then((at) => acknowledged.push(at));
    const first = append(1);
    await syncNumber(1);
    const others = [2, 3, 4].map(append);
    const closed = log.close();
    expect([acknowledged, log.end]).toEqual([[], 1]);
    syncs[0]!();
    await first;
    await syncNumber(2);
    expect([acknowledged, log.end]).toEqual([[1], 2]);
    syncs[1]!();
    await Promise.all([...others, closed]);
    expect(acknowledged).toEqual([1, 2, 3, 4]);
    expect(steps).toEqual(['write', 'sync', 'write', 'sync']);
  });

  it.each(['create', 'write', 'sync', 'rename', 'syncFolder'] as const)(
    'a log keeps appends and close waiting while the %s of a new segment takes long, and goes on reading',
    async (kind) => {
      const gate = new Gate();
      const folder = new VirtualDisk().mount((step) => (step.kind === kind ? gate.pass() : undefined));
      const log = await openSegmentLog(folder, SMALL);
      for (const position of [0, 1]) await log.append([recordAt(position)]);
      gate.close();
      const settled: (number | string)[] = [];
      const appends = [2, 3].map((position) => log.append([recordAt(position)]).then((at) => settled.push(at)));
      await gate.arrival();
      expect(await textsFrom(log, 0)).toEqual(textsAt(2));
      const closed = log.close().then(() => settled.push('closed'));
      await standstill();
      expect([settled, log.end]).toEqual([[], 2]);
      gate.open();
      await Promise.all([...appends, closed]);
      expect(settled).toEqual([2, 3, 'closed']);
    },
  );

  it('a log on a slow disk makes a large frame of many appends, but not one without bound', async () => {
    const disk = new VirtualDisk();
    let writes = 0;
    const log = await openSegmentLog(
      disk.mount(({ kind }) => {
        if (kind === 'write') writes++;
      }),
    );
    writes = 0;
    await Promise.all(Array.from({ length: 10 }, () => log.append([Buffer.alloc(2 ** 20, 1)])));
    expect(writes).toBe(3);
  });
});
