/** Appends, cuts and reads at the same time, in every order in which the disk may do their steps. */

import {
  append,
  checkSurvivor,
  cut,
  fresh,
  type Progress,
  SMALL,
  textsBetween,
} from '@isochron/testing/storage/wal/crash-checks';
import { textsFrom } from '@isochron/testing/storage/wal/suite';
import { VirtualDisk } from '@isochron/testing/storage/wal/virtual-disk';
import { openSegmentLog } from './segment-log.js';

/** Waiting steps, each with a function that lets it go on. */
type Waiting = { readonly label: string; readonly go: () => void }[];

/** The waiting step that goes first at each point of a run, and how many there were to choose from. */
interface Path {
  readonly choices: number[];
  readonly options: number[];
}

/** The path after this one, in the order of a depth-first search; undefined after the last. */
function nextPath({ choices, options }: Path): Path | undefined {
  const at = choices.findLastIndex((choice, i) => choice + 1 < options[i]!);
  return at < 0 ? undefined : { choices: [...choices.slice(0, at), choices[at]! + 1], options: [] };
}

const quiet = () => new Promise<void>((resolve) => setImmediate(resolve));

interface Run {
  readonly disk: VirtualDisk;
  readonly progress: Progress;
  readonly waiting: Waiting;
  readonly done: Promise<unknown>;
}

/** Follows a path to its end and extends it. `atPoint` is called before each step, with the steps so far. */
async function follow(run: Run, path: Path, atPoint: (steps: readonly string[]) => Promise<void>): Promise<Path> {
  const [choices, options] = [[...path.choices], [] as number[]];
  const steps: string[] = [];
  for (await quiet(); run.waiting.length > 0; await quiet()) {
    await atPoint(steps);
    const choice = choices[options.length] ?? 0;
    if (options.length === choices.length) choices.push(choice);
    options.push(run.waiting.length);
    const [{ label, go }] = run.waiting.splice(choice, 1) as [Waiting[number]];
    steps.push(label);
    go();
  }
  await run.done;
  await atPoint(steps);
  return { choices, options };
}

/** A log with five records in two segments; from then on its steps wait. */
async function begin(work: (log: Awaited<ReturnType<typeof openSegmentLog>>, progress: Progress) => Promise<unknown>) {
  const disk = new VirtualDisk();
  const waiting: Waiting = [];
  let waits = false;
  const folder = disk.mount(({ kind, name }) => {
    if (waits) return new Promise<void>((go) => waiting.push({ label: `${kind} ${name}`, go }));
  });
  const progress = fresh();
  const log = await openSegmentLog(folder, SMALL);
  for (let i = 0; i < 5; i++) await append(log, 1, progress);
  waits = true;
  return { disk, progress, waiting, done: work(log, progress) };
}

/** Runs every interleaving. Returns how many there are. */
async function everyInterleaving(
  work: Parameters<typeof begin>[0],
  atPoint: (run: Run, steps: readonly string[]) => Promise<void>,
): Promise<number> {
  let count = 0;
  for (let path: Path | undefined = { choices: [], options: [] }; path !== undefined; path = nextPath(path)) {
    const run = await begin(work);
    path = await follow(run, path, (steps) => atPoint(run, steps));
    count++;
  }
  return count;
}

/** Thousands of runs on a busy machine. */
const LIMIT_MS = 300_000;

describe('in every interleaving of their steps', () => {
  it(
    'in every interleaving appends, a new segment and a cut leave every acknowledged record after a crash at any point',
    async () => {
      const checked = new Set<string>();
      const count = await everyInterleaving(
        async (log, progress) => {
          const appends = async () => {
            for (let i = 0; i < 3; i++) await append(log, 1, progress);
          };
          await Promise.all([appends(), cut(log, 5, progress), cut(log, 6, progress)]);
          expect(await log.end).toBe(8);
        },
        async ({ disk, progress }, steps) => {
          // Two orders of the same steps leave the same disk, except for changes of names that are not synced.
          const names = steps.filter((step) => /^(create|rename|remove|syncFolder)/.test(step));
          const state = [...names, '|', ...[...steps].sort(), '|', progress.acknowledged, progress.cut].join();
          if (checked.has(state)) return;
          checked.add(state);
          const images = [disk.files, ...disk.afterPowerFailure('some')];
          for (const image of images) await checkSurvivor(new VirtualDisk(image), progress);
        },
      );
      expect(count).toBeGreaterThan(50);
      expect(checked.size).toBeGreaterThan(50);
    },
    LIMIT_MS,
  );

  it(
    'in every interleaving a read gets every record that was durable at its call, in order, while others are appended',
    async () => {
      const ends = new Set<number>();
      const count = await everyInterleaving(
        async (log, progress) => {
          const reading = textsFrom(log, 1).then((found) => {
            ends.add(found.length + 1);
            expect(found).toEqual(textsBetween(1, found.length + 1));
          });
          await Promise.all([reading, append(log, 1, progress).then(() => append(log, 1, progress))]);
        },
        async () => undefined,
      );
      expect(count).toBeGreaterThan(1000);
      expect(Math.min(...ends)).toBe(5);
    },
    LIMIT_MS,
  );
});
