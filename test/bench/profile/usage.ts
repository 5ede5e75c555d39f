/** The resources that processes have used so far, and the difference between two times. */
import { mainThreadMs } from '../costs/cpu-clock.js';
import { cpuMs, ioOf } from '../proc.js';

/** Figures by name. */
export type Counts = Readonly<Record<string, number>>;

/** CPU time of main threads, where event loops run, and of all others: of the disk, of compilation, of collection. */
export interface CpuUse {
  readonly mainMs: number;
  readonly otherMs: number;
}

/** Of several processes. @throws Error on other systems than Linux */
export function cpuUse(pids: readonly number[]): CpuUse {
  let [mainMs, allMs] = [0, 0];
  for (const pid of pids) {
    mainMs += mainThreadMs(pid);
    allMs += cpuMs(pid) ?? 0;
  }
  return { mainMs, otherMs: allMs - mainMs };
}

/** Calls of read and write, and bytes written to disks, of several processes. */
export function ioUse(pids: readonly number[]): Counts {
  const sum = (...names: string[]): number =>
    pids.reduce((all, pid) => all + names.reduce((own, name) => own + (ioOf(pid)?.get(name) ?? 0), 0), 0);
  return { calls: sum('syscr', 'syscw'), diskBytes: sum('write_bytes') };
}

/** The increase of each figure. */
export const difference = (before: Counts, after: Counts): Record<string, number> =>
  Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]));
