/** `npm run bench:costs`: measures the costs of a node's work, for the simulated scale experiments. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { Context } from '../context.js';
import { endOnSignals } from '../options.js';
import { COSTS_FILE, type CostsRecord } from '../papers/scale/costs.js';
import { Progress } from '../progress.js';
import { machineOf } from '../report.js';
import { measureCodec } from './codec.js';
import { measureDisk } from './disk.js';
import { measureFrames } from './frames.js';
import { measureMachines } from './machines.js';
import { fitToRealNodes } from './real-nodes.js';

interface Options {
  readonly out: string;
  readonly quick: boolean;
}

const program = new Command('bench:costs')
  .description('Measures the cost model of the simulated scale experiments on this machine: CPU time by kind of work.')
  .option('--out <file>', 'file of the costs', COSTS_FILE)
  .option('--quick', 'little of everything: shows that all of it runs, measures nothing', false)
  .addHelpText('after', '\nExit code: 0 the costs are written, 1 a failure or a wrong command line.');

async function main(): Promise<void> {
  const { out, quick } = program.parse().opts<Options>();
  const progress = new Progress(5);
  const durationMs = quick ? 1_000 : 4_000;
  const context = new Context(
    { rounds: 1, durationMs, seed: 1, quick, keysPerPartition: quick ? 1_000 : 10_000, profile: undefined },
    progress,
  );
  endOnSignals([context]);
  try {
    const machine = machineOf(context.folder);
    const { model, checks } = await measure(context, progress, quick);
    const record: CostsRecord = { date: new Date().toISOString(), quick, machine, model, checks };
    writeFileSync(out, `${JSON.stringify(record, null, 2)}\n`);
    console.log(out);
  } finally {
    progress.end();
    await context.close();
  }
}

async function measure(context: Context, progress: Progress, quick: boolean) {
  const folder = (name: string): string => {
    const path = join(context.folder, name);
    mkdirSync(path, { recursive: true });
    return path;
  };
  progress.begin('steps of machines');
  const { steps, messages, batches, batchLoop } = await measureMachines(folder('machines'), quick ? 100 : 1_500);
  progress.begin('encoding and decoding');
  const { encode, decode } = measureCodec(messages);
  progress.begin('frames');
  const frame = await measureFrames(quick ? 4_000 : 100_000, { encode, decode });
  progress.begin('durable batches');
  const batch = { loop: batchLoop, disk: await measureDisk(folder('disk'), batches) };
  progress.begin('real nodes');
  return fitToRealNodes(context, { steps, encode, decode, frame, batch }, (what) => progress.step(what));
}

await main();
