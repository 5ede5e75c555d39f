// Child processes: one kind whose output is collected, one kind that owns the terminal.

import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

const exitCodeOf = (code, signal) => code ?? 128 + constants.signals[signal];

/** Calls `onSignal` instead of dying; the returned function restores the previous handlers. */
function catchSignals(onSignal) {
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
}

/**
 * Runs a command without a terminal and collects its output.
 * @param {{ limitMs?: number }} options further ones go to `spawn`; a command that takes longer is ended, with all
 *   processes that it has started
 * @returns {Promise<{ code: number, output: string }>} both streams in the order in which they came
 * @throws an error with `exitCode` when this process got a signal to stop, after the child has ended
 */
export function runQuietly(command, args, { limitMs, ...options }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks = [];
    let stoppedBy;
    const restore = catchSignals((signal) => {
      stoppedBy = signal;
      endGroup(child, signal);
    });
    const timer =
      limitMs === undefined
        ? undefined
        : setTimeout(() => {
            chunks.push(Buffer.from(`\nStill running after ${limitMs / 1000} s: ended.\n`));
            endGroup(child, 'SIGKILL');
          }, limitMs);
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.stderr.on('data', (chunk) => chunks.push(chunk));
    const finish = () => {
      clearTimeout(timer);
      restore();
    };
    child.on('error', (error) => {
      finish();
      reject(error);
    });
    child.on('close', (code, signal) => {
      finish();
      if (stoppedBy) reject(Object.assign(new Error('Stopped.'), { exitCode: exitCodeOf(null, stoppedBy) }));
      else resolve({ code: exitCodeOf(code, signal), output: Buffer.concat(chunks).toString() });
    });
  });
}

/** Signals a child that leads a process group, and everything in the group. */
function endGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group has ended.
  }
}

/**
 * Runs a command that owns the terminal, and waits for its end whatever signals this process gets.
 *
 * A Ctrl-C in a terminal reaches the child by itself (same process group), and many programs take a second signal as
 * "stop at once": so there it is not passed on. Any other signal is passed on once, although npm repeats it.
 * @param {(child: import('node:child_process').ChildProcess) => void} [onStart]
 * @returns {Promise<number>} its exit code, or 128 + the signal that ended it
 */
export function runInForeground(command, args, options, onStart) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: 'inherit' });
    const passedOn = new Set(process.stdin.isTTY || process.stderr.isTTY ? ['SIGINT'] : []);
    const restore = catchSignals((signal) => {
      if (passedOn.has(signal)) return;
      passedOn.add(signal);
      child.kill(signal);
    });
    child.on('error', (error) => {
      restore();
      reject(error);
    });
    child.on('exit', (code, signal) => {
      restore();
      resolve(exitCodeOf(code, signal));
    });
    onStart?.(child);
  });
}
