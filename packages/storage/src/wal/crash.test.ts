/** The content of a log after a kill or a power failure at any step, and after errors of the disk. */

import { append, checkSurvivor, cut, fresh, type Progress, SMALL } from '@isochron/testing/storage/wal/crash-checks';
import { textsFrom } from '@isochron/testing/storage/wal/suite';
import { VirtualDisk } from '@isochron/testing/storage/wal/virtual-disk';
import type { LogFolder } from './files.js';
import { openSegmentLog } from './segment-log.js';

const NEVER = new Promise<never>(() => undefined);

type Script = (folder: LogFolder, progress: Progress) => Promise<void>;

/** Appends alone and together, rolls, cuts, and opens the log anew in between. */
const smallRun: Script = async (folder, progress) => {
  let log = await openSegmentLog(folder, SMALL);
  await append(log, 1, progress);
  await append(log, 2, progress);
  await Promise.all([append(log, 1, progress), append(log, 1, progress)]);
  await append(log, 1, progress);
  await cut(log, 4, progress);
  await log.close();
  log = await openSegmentLog(folder, SMALL);
  for (let i = 0; i < 5; i++) await append(log, 1, progress);
  await cut(log, 9, progress);
  await append(log, 1, progress);
  await log.close();
};

/** Rolls and cuts once. */
const shortRun: Script = async (folder, progress) => {
  const log = await openSegmentLog(folder, SMALL);
  for (let i = 0; i < 4; i++) await append(log, 1, progress);
  await cut(log, 3, progress);
  await append(log, 1, progress);
};

/** Runs a script on a disk until the step of that number, which never begins. */
async function runUntil(step: number, script: Script, disk = new VirtualDisk(), before = fresh()) {
  let steps = 0;
  let died = false;
  const dead = new Promise<void>((resolve) => {
    const folder = disk.mount(() => {
      if (steps++ < step) return undefined;
      died = true;
      resolve();
      return NEVER;
    });
    void script(folder, before).then(resolve);
  });
  await dead;
  return { disk, progress: before, died };
}

/** Opens the files that a crash left, reads them, and appends. Records that were read count as acknowledged. */
const readAndAppend: Script = async (folder, progress) => {
  const log = await openSegmentLog(folder, SMALL);
  await textsFrom(log, log.first);
  progress.acknowledged = log.end;
  progress.bounds.splice(0, Infinity, ...progress.bounds.filter((bound) => bound <= log.end));
  await append(log, 2, progress);
  await log.close();
};

describe('after a crash at any step of append, roll, cut and open', () => {
  /** Calls `each` with the disk at every step of a script. */
  async function atEveryStep(script: Script, each: (disk: VirtualDisk, progress: Progress) => Promise<void>) {
    for (let step = 0; ; step++) {
      const { disk, progress, died } = await runUntil(step, script);
      await each(disk, progress);
      if (!died) return step;
    }
  }

  it('after a crash at any step a killed process leaves every acknowledged record, and of the others whole appends in order', async () => {
    const steps = await atEveryStep(smallRun, async (disk, progress) => {
      await checkSurvivor(new VirtualDisk(disk.files), progress);
    });
    expect(steps).toBeGreaterThan(40);
  });

  it('after a crash at any step a power failure leaves every acknowledged record and whole appends, whichever unsynced bytes and names are lost', async () => {
    let count = 0;
    await atEveryStep(smallRun, async (disk, progress) => {
      for (const image of disk.afterPowerFailure('every')) {
        await checkSurvivor(new VirtualDisk(image), progress);
        count++;
      }
    });
    expect(count).toBeGreaterThan(1000);
  });

  it('a power failure loses nothing that was read after a kill, at any step of both processes', async () => {
    let count = 0;
    for (let second = 0, ended = false; !ended; second++) {
      ended = true;
      await atEveryStep(shortRun, async (disk, progress) => {
        const { died } = await runUntil(second, readAndAppend, disk, progress);
        if (died) ended = false;
        for (const image of disk.afterPowerFailure('some')) {
          await checkSurvivor(new VirtualDisk(image), progress);
          count++;
        }
      });
    }
    expect(count).toBeGreaterThan(500);
  });

  it('a second power failure in the middle of the recovery from the first loses nothing more', async () => {
    let count = 0;
    await atEveryStep(shortRun, async (disk, first) => {
      for (const image of disk.afterPowerFailure('some')) {
        for (let second = 0, ended = false; !ended; second++) {
          const after = await runUntil(second, readAndAppend, new VirtualDisk(image), structuredClone(first));
          ended = !after.died;
          for (const left of after.disk.afterPowerFailure('some')) {
            await checkSurvivor(new VirtualDisk(left), after.progress);
            count++;
          }
        }
      }
    });
    expect(count).toBeGreaterThan(500);
  });

  it('a frame of several sectors is read as a whole or not at all, whichever of its sectors are lost', async () => {
    const large: Script = async (folder, progress) => {
      const log = await openSegmentLog(folder);
      await append(log, 1, progress);
      await append(log, 150, progress);
    };
    let count = 0;
    await atEveryStep(large, async (disk, progress) => {
      for (const image of disk.afterPowerFailure('every')) {
        await checkSurvivor(new VirtualDisk(image), progress);
        count++;
      }
    });
    expect(count).toBeGreaterThan(1000);
  });
});
