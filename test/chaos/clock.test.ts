import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../e2e/processes.js';
import { CLOCK_VARIABLE, errorOf, type WrongClock } from './clock.js';

const MODULE = pathToFileURL(join(ROOT, 'test/dist/chaos/clock.js')).href;
const HOUR_MS = 3_600_000;
/** Answers every message with its clock. */
const PROGRAM = "process.on('message', () => process.send(Date.now()))";

it('the clock of a node is wrong from its start, and can get another error while the node runs', async () => {
  const clock = (offsetMs: number): WrongClock => ({ offsetMs, rate: 0, sinceMs: 0 });
  const child = spawn(process.execPath, ['--import', MODULE, '--eval', PROGRAM], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [CLOCK_VARIABLE]: JSON.stringify(clock(HOUR_MS)) },
  });
  const ask = async (question: object): Promise<number> => {
    child.send(question);
    return ((await once(child, 'message')) as [number])[0];
  };
  try {
    expect((await ask({})) - Date.now()).toBeGreaterThan(HOUR_MS / 2);
    expect(Date.now() - (await ask(clock(-HOUR_MS)))).toBeGreaterThan(HOUR_MS / 2);
  } finally {
    child.kill('SIGKILL');
    await once(child, 'close');
  }
});

it('a wrong clock drifts by its rate from sinceMs on', () => {
  expect(errorOf({ offsetMs: 5, rate: -0.1, sinceMs: 1000 }, 3000)).toBe(-195);
  expect(errorOf({ offsetMs: 5, rate: 0.5, sinceMs: 1000 }, 1000)).toBe(5);
});
