/**
 * System calls of processes by name, counted by strace. It slows them down several times, so only counts for each
 * operation are meaningful.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

/** A row of the table that `strace -c` writes: share, seconds, µs a call, calls, errors or empty, name. */
const ROW = /^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$/;

/** Time limit for strace to attach to all processes, ms. */
const ATTACH_MS = 10_000;

/** Calls by name, without their sum. */
export function parseCalls(text: string): ReadonlyMap<string, number> {
  const rows = text.split('\n').flatMap((line) => {
    const [, calls, name] = ROW.exec(line) ?? [];
    return calls === undefined || name === undefined || name === 'total' ? [] : [[name, Number(calls)] as const];
  });
  return new Map(rows);
}

export class SyscallCount {
  private constructor(
    readonly child: ChildProcess,
    readonly file: string,
  ) {}

  /** Begins to count. Undefined without strace, or without permission to trace the processes. */
  static async start(pids: readonly number[], file: string): Promise<SyscallCount | undefined> {
    const attach = pids.flatMap((pid) => ['-p', String(pid)]);
    const child = spawn('strace', ['-c', '-f', '-o', file, ...attach], { stdio: ['ignore', 'ignore', 'pipe'] });
    const attached = new Promise<boolean>((resolve) => {
      let left = pids.length;
      setTimeout(() => resolve(false), ATTACH_MS).unref();
      child.once('error', () => resolve(false));
      child.once('exit', () => resolve(false));
      child.stderr?.on('data', (text: Buffer) => {
        left -= String(text).match(/ attached/g)?.length ?? 0;
        if (left <= 0) resolve(true);
      });
    });
    if (await attached) return new SyscallCount(child, file);
    child.kill('SIGKILL');
    return undefined;
  }

  /** Ends the count. */
  async stop(): Promise<ReadonlyMap<string, number>> {
    if (this.child.exitCode === null) {
      const ended = once(this.child, 'exit');
      this.child.kill('SIGINT');
      await ended;
    }
    return parseCalls(readFileSync(this.file, 'utf8'));
  }
}
