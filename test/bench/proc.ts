/** Linux's figures of a process. On other systems they are absent, and CPU times are left out. */
import { existsSync, readFileSync } from 'node:fs';

/** The kernel reports times to programs in hundredths of a second on every architecture that Node runs on. */
export const TICK_MS = 10;
/** Positions of utime and stime after the process name, which may contain any character. */
const UTIME = 11;
const STIME = 12;

/**
 * User and system time of a process in ms, from the text of `/proc/<pid>/stat`.
 * @throws Error for another text
 */
export function parseCpuMs(stat: string): number {
  const fields = stat
    .slice(stat.lastIndexOf(')') + 1)
    .trim()
    .split(' ');
  const ticks = Number(fields[UTIME]) + Number(fields[STIME]);
  if (!Number.isFinite(ticks)) throw new Error('not the text of /proc/<pid>/stat');
  return ticks * TICK_MS;
}

/** CPU time of a live process so far, ms; undefined if the system does not report it. */
export function cpuMs(pid: number): number | undefined {
  if (!existsSync('/proc/self/stat')) return undefined;
  return parseCpuMs(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

/** CPU time of several processes together, ms. */
export function totalCpuMs(pids: readonly number[]): number | undefined {
  let total = 0;
  for (const pid of pids) {
    const ms = cpuMs(pid);
    if (ms === undefined) return undefined;
    total += ms;
  }
  return total;
}

/** The numbers of `/proc/<pid>/io`, by name. */
export function parseIo(text: string): ReadonlyMap<string, number> {
  return new Map([...text.matchAll(/^(\w+): (\d+)$/gm)].map(([, name, value]) => [name!, Number(value)]));
}

/** Reads and writes of a live process so far; undefined if the system does not report them. */
export function ioOf(pid: number): ReadonlyMap<string, number> | undefined {
  if (!existsSync('/proc/self/io')) return undefined;
  return parseIo(readFileSync(`/proc/${pid}/io`, 'utf8'));
}

/**
 * Bytes that live processes have written to disks so far, in whole pages, as the system counts; undefined if the system
 * does not report them. Files in memory do not count.
 */
export function diskBytesWritten(pids: readonly number[]): number | undefined {
  let total = 0;
  for (const pid of pids) {
    const bytes = ioOf(pid)?.get('write_bytes');
    if (bytes === undefined) return undefined;
    total += bytes;
  }
  return total;
}

const KIB = 1024;

/**
 * Bytes of mapped files among the resident memory of a process, from the text of `/proc/<pid>/status`.
 * @throws Error for another text
 */
export function parseMappedBytes(status: string): number {
  const kib = /^RssFile:\s+(\d+) kB$/m.exec(status)?.[1];
  if (kib === undefined) throw new Error('not the text of /proc/<pid>/status');
  return Number(kib) * KIB;
}

/**
 * Bytes of mapped files, its program included, in the resident memory of a live process: the system reclaims them when
 * it needs memory. Undefined if the system does not report them.
 */
export function mappedBytes(pid: number): number | undefined {
  if (!existsSync('/proc/self/status')) return undefined;
  return parseMappedBytes(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

/** Percent of a core that each process uses meanwhile; undefined if the system does not report it. */
export async function cpuShares<R>(
  pids: readonly number[],
  work: () => Promise<R>,
): Promise<{ readonly result: R; readonly shares: readonly number[] | undefined }> {
  const before = pids.map(cpuMs);
  const began = performance.now();
  const result = await work();
  const elapsedMs = performance.now() - began;
  const shares = pids.map((pid, i) => {
    const [from, to] = [before[i], cpuMs(pid)];
    return from === undefined || to === undefined ? undefined : ((to - from) * 100) / elapsedMs;
  });
  return { result, shares: shares.every((share) => share !== undefined) ? shares : undefined };
}
