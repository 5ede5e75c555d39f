/// <reference types="jest" />
import { TrialWorker } from './trial-worker.js';

const REQUEST = { switches: [], runs: [], untilCaught: true, ignored: [] };

/** A worker that runs a program in place of trials. */
function workerOf(program: string, limitMs?: number) {
  return new TrialWorker(`process.on('message', () => { ${program} });`, limitMs);
}

describe('a worker for trials', () => {
  it('a worker runs one trial after the other', async () => {
    const worker = workerOf('process.send({ tried: ++n, caught: [], hasRun: true }); }); let n = 0; void (() => {');
    expect(await worker.ask(REQUEST)).toMatchObject({ tried: 1 });
    expect(await worker.ask(REQUEST)).toMatchObject({ tried: 2 });
    worker.end();
  });

  it('a trial without an end is ended after its limit, with the output so far', async () => {
    await expect(workerOf("console.log('so far'); for (;;);", 3_000).ask(REQUEST)).rejects.toThrow(
      /no result in 3000 ms\nso far/,
    );
  });

  it('the end of the process is reported with its code and its output', async () => {
    await expect(
      workerOf("console.error('bad'); setTimeout(() => process.exit(7), 500);").ask(REQUEST),
    ).rejects.toThrow(/the process ended with code 7\nbad/);
  });
});
