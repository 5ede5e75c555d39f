/** The use of the machine by other processes during a measurement. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { TICK_MS } from './proc.js';

/** Above this share of the machine, figures are marked, and a run does not begin. */
export const MOST_OF_OTHERS = 0.1;
/** How long the machine is observed before a run. */
const WATCHED_MS = 2000;

/** CPU time so far, ms. */
export interface CpuTimes {
  /** Of all processes, over all cores, and the host's steal time. */
  readonly busyMs: number;
  /** Of this process and its children, ended ones included. */
  readonly ownMs: number;
  readonly atMs: number;
}

/**
 * Fields of `/proc/stat` after `cpu` that are not work: idle, iowait; and guest times, which user time already
 * includes.
 */
const NO_WORK = new Set([3, 4, 8, 9]);
/** Positions after the process name in `/proc/<pid>/stat`: parent, and own and waited-for children's times. */
const PARENT = 1;
const TIMES = [11, 12, 13, 14] as const;

/** Undefined if the system does not report it. */
export function cpuTimes(): CpuTimes | undefined {
  if (!existsSync('/proc/stat')) return undefined;
  return { busyMs: parseBusyMs(readFileSync('/proc/stat', 'utf8')), ownMs: ownMs(), atMs: performance.now() };
}

/** From the text of `/proc/stat`. @throws Error for another text */
export function parseBusyMs(stat: string): number {
  const line = stat.split('\n').find((each) => each.startsWith('cpu '));
  if (line === undefined) throw new Error('not the text of /proc/stat');
  const fields = line.trim().split(/\s+/).slice(1).map(Number);
  return fields.reduce((sum, ticks, i) => sum + (NO_WORK.has(i) ? 0 : ticks), 0) * TICK_MS;
}

/** The share of the machine, 0 to 1, that other processes used between two times. */
export function shareOfOthers(before: CpuTimes, after: CpuTimes, cores = cpus().length): number {
  const others = after.busyMs - before.busyMs - (after.ownMs - before.ownMs);
  return Math.max(0, others / ((after.atMs - before.atMs) * cores));
}

/** Observes the machine for a moment. Undefined if the system does not report its load. */
export async function watchOthers(): Promise<number | undefined> {
  const before = cpuTimes();
  await delay(WATCHED_MS);
  const after = cpuTimes();
  return before === undefined || after === undefined ? undefined : shareOfOthers(before, after);
}

/** This process and its descendants. A process that has ended counts with the parent that waited for it. */
function ownMs(): number {
  const all = new Map<number, { readonly parent: number; readonly ms: number }>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = statOf(Number(name));
    if (stat !== undefined) all.set(Number(name), stat);
  }
  const isOwn = (pid: number): boolean =>
    pid === process.pid || (pid > 1 && all.has(pid) && isOwn(all.get(pid)!.parent));
  return [...all].reduce((sum, [pid, { ms }]) => sum + (isOwn(pid) ? ms : 0), 0);
}

function statOf(pid: number): { parent: number; ms: number } | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
  const fields = stat
    .slice(stat.lastIndexOf(')') + 1)
    .trim()
    .split(' ')
    .map(Number);
  return { parent: fields[PARENT]!, ms: TIMES.reduce((sum, i) => sum + fields[i]!, 0) * TICK_MS };
}
