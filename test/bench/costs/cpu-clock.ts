/** CPU time of threads, from Linux: time of other processes does not count. */
import { readFileSync } from 'node:fs';

/**
 * CPU time of a process' main thread, in which its event loop runs, ms.
 * @throws a system error if the process does not exist, or the system is not Linux
 */
export function mainThreadMs(pid: number | 'self' = 'self'): number {
  const thread = pid === 'self' ? process.pid : pid;
  const [ns] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
  return Number(ns) / 1e6;
}
