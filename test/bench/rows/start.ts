/** The time of a second `npm start` until the cluster serves. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Benchmark, Context } from '../context.js';
import { atMost, lineOf } from '../figures.js';
import { freePortBase } from '../ports.js';
import { LoggedProcess } from '../processes.js';
import { ROOT } from '../root.js';

/** API, peering and metrics of three nodes, in the layout of `isochron dev`. */
const PORT_OFFSETS = [0, 1, 2, 100, 101, 102, 200, 201, 202];
const POLL_INTERVAL_MS = 10;
const READY_TIMEOUT_MS = 300_000;

export const secondStart: Benchmark = {
  name: 'start',
  about: 'second `npm start` to ready',
  run: async (context) => {
    context.progress.step('first start');
    await startAndStop(context, 0);
    const samples: number[] = [];
    for (let round = 1; round <= context.settings.rounds; round++) {
      context.progress.step(`start ${round + 1}`);
      samples.push((await startAndStop(context, round)) / 1000);
    }
    return [lineOf('second npm start to ready', 's', samples, atMost(5))];
  },
};

/** Milliseconds from the start of npm to the line that reports that the cluster serves. */
async function startAndStop(context: Context, round: number): Promise<number> {
  const base = await freePortBase(PORT_OFFSETS);
  const data = join(context.folder, 'start');
  const logFile = join(context.folder, `start-${round}.log`);
  const args = ['start', '--silent', '--', '--data', data, '--port-base', String(base), '--json'];
  const start = performance.now();
  const npm = new LoggedProcess('npm start', 'npm', args, logFile, ROOT);
  try {
    while (!readFileSync(logFile, 'utf8').includes('{"cluster":')) {
      npm.check();
      if (performance.now() - start > READY_TIMEOUT_MS) throw new Error(`npm start is not ready in time: ${logFile}`);
      await delay(POLL_INTERVAL_MS);
    }
    return performance.now() - start;
  } finally {
    await npm.stop();
  }
}
