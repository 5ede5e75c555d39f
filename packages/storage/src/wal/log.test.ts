import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LogHarness, runDurableLogSuite } from '@isochron/testing/storage/wal/suite';
import { VirtualDisk } from '@isochron/testing/storage/wal/virtual-disk';
import type { DurableLog } from './durable-log.js';
import { openLogIn, openSegmentLog } from './segment-log.js';

const SMALL = { segmentBytes: 500 };

async function harnessOf(open: () => Promise<DurableLog>, remove = async () => {}): Promise<LogHarness> {
  let log = await open();
  return {
    log,
    reopen: async () => {
      await log.close();
      log = await open();
      return log;
    },
    destroy: async () => {
      await log.close();
      await remove();
    },
  };
}

runDurableLogSuite('segments on a virtual disk', () => {
  const disk = new VirtualDisk();
  return harnessOf(() => openSegmentLog(disk.mount(), SMALL));
});

runDurableLogSuite('segments in a folder', async () => {
  const location = await mkdtemp(join(tmpdir(), 'isochron-log-'));
  const remove = () => rm(location, { recursive: true });
  return harnessOf(() => openLogIn(join(location, 'a', 'log'), SMALL), remove);
});
