/** One `isochron dev` per data folder: a second one would replace the cluster file under the nodes of the first. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError, ReportedFailure } from '../failures.js';

/**
 * Takes the folder until this process ends. The lock of a process that was killed is taken over.
 * @throws ReportedFailure when another process has it; the system's error where the folder cannot be written to
 */
export function lockFolder(data: string): void {
  const path = join(data, 'dev.pid');
  for (let attempt = 0; !isCreated(path); attempt++) {
    const holder = Number(readFileSync(path, 'utf8'));
    if (attempt > 0 || isRunning(holder)) {
      throw new ReportedFailure(`FOLDER_IN_USE: process ${holder} runs a cluster in ${data}: stop it or pass --data`);
    }
    rmSync(path, { force: true });
  }
  process.once('exit', () => rmSync(path, { force: true }));
}

function isCreated(path: string): boolean {
  try {
    writeFileSync(path, `${process.pid}\n`, { flag: 'wx' });
    return true;
  } catch (error) {
    if (isSystemError(error) && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Whether another process has this id. Signal 0 only tests for it. */
function isRunning(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return isSystemError(error) && error.code === 'EPERM';
  }
}
