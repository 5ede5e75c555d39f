/** CPU time of threads, from Linux: what others on the machine take away does not count. */
import { readFileSync } from 'node:fs';

/**
 * CPU time of a process' main thread, in which its event loop runs, ms.
 * @throws a system error where there is no such process, or no such thing (elsewhere than on Linux)
 */
export function mainThreadMs(pid: number | 'self' = 'self'): number {
  const thread = pid === 'self' ? process.pid : pid;
  const [ns] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
  return Number(ns) / 1e6;
}
