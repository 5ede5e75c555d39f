import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { childScript } from '@isochron/testing/storage/child-script';
import { numbered } from '@isochron/testing/storage/wal/numbered';
import { openLogIn } from './segment-log.js';

const ROUNDS = 6;
const SEGMENT_BYTES = 20_000;

/** Numbers that follow from a seed (mulberry32). */
function numbersOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

describe('a process that is killed with SIGKILL', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'isochron-log-kill-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('a process that is killed with SIGKILL leaves every acknowledged record in its log, and no damage', async () => {
    const script = await childScript('wal/kill-child.ts', folder);
    const seed = Number(process.env.SEED ?? randomInt(2 ** 31));
    console.log(`kills by seed ${seed}; SEED=${seed} repeats their times`);
    const below = numbersOf(seed);
    const data = join(folder, 'log');
    for (let round = 0; round < ROUNDS; round++) {
      const acknowledged = await killAfter(script, data, 100 + below(100), below(4000) / 1000);
      const log = await openLogIn(data, { segmentBytes: SEGMENT_BYTES });
      expect(log.first).toBeLessThanOrEqual(acknowledged);
      expect(log.end).toBeGreaterThan(acknowledged);
      for await (const { first, records } of log.read(log.first))
        for (const [i, record] of records.entries()) expect(Buffer.compare(record, numbered(first + i))).toBe(0);
      await log.close();
    }
  });
});

/**
 * Runs the child until it has acknowledged this many records and a little longer, then kills it. Returns the highest
 * position.
 */
async function killAfter(script: string, data: string, records: number, afterMs: number): Promise<number> {
  const child = spawn(process.execPath, [script, data, String(SEGMENT_BYTES)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<NodeJS.Signals | null>((done) => child.once('close', (_, signal) => done(signal)));
  let [last, count] = [-1, 0];
  for await (const line of createInterface({ input: child.stdout })) {
    last = Math.max(last, Number(line));
    if (++count === records) void delay(afterMs).then(() => child.kill('SIGKILL'));
  }
  expect(await ended).toBe('SIGKILL');
  return last;
}
