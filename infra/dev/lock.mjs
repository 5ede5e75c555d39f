// A lock between processes: a file that names its holder. It is created by a hard link, so that it is never seen half
// written. A lock is stale when its holder is dead, or (the number of a dead process may be in use again) when it has
// not been touched for a while: the holder touches it every second.

import { closeSync, linkSync, openSync, readFileSync, statSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_INTERVAL_MS = 200;
const TOUCH_INTERVAL_MS = 1000;
const SILENT_AFTER_MS = 30_000;

/**
 * Runs `work` while no other process does so under the same file.
 * @template T
 * @param {string} file the lock file; its folder must exist and be writable
 * @param {() => Promise<T>} work
 * @param {(holder: string) => void} [onWait] called once when another process holds the lock, with its number
 * @returns {Promise<T>}
 */
export async function withLock(file, work, onWait) {
  await acquire(file, onWait);
  const timer = setInterval(() => touch(file), TOUCH_INTERVAL_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    if (read(file)?.holder === String(process.pid)) unlinkSync(file);
  }
}

async function acquire(file, onWait) {
  let seen = { state: undefined, sinceMs: 0 };
  for (let waits = 0; !tryCreate(file); waits++) {
    const lock = read(file);
    if (lock === undefined) continue;
    if (lock.state !== seen.state) seen = { state: lock.state, sinceMs: performance.now() };
    if (!isAlive(lock.holder) || performance.now() - seen.sinceMs > SILENT_AFTER_MS) {
      if (removeStale(file, lock.state)) continue;
    } else if (waits === 0) onWait?.(lock.holder);
    await delay(POLL_INTERVAL_MS);
  }
}

function tryCreate(file) {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, String(process.pid));
  return unlessCode('EEXIST', false, () => {
    try {
      linkSync(draft, file);
      return true;
    } finally {
      unlinkSync(draft);
    }
  });
}

/** `state` changes whenever the lock changes hands or is touched. */
function read(file) {
  return unlessCode('ENOENT', undefined, () => {
    const holder = readFileSync(file, 'utf8');
    return { holder, state: `${holder}@${statSync(file).mtimeMs}` };
  });
}

/** Of several processes that find the same stale lock only one may remove it, or the next one's lock would go too. */
function removeStale(file, state) {
  const guard = `${file}.takeover`;
  const descriptor = unlessCode('EEXIST', undefined, () => openSync(guard, 'wx'));
  if (descriptor === undefined) {
    removeForgottenGuard(guard);
    return false;
  }
  try {
    if (read(file)?.state === state) unlinkSync(file);
    return true;
  } finally {
    closeSync(descriptor);
    unlinkSync(guard);
  }
}

/** The guard exists for less than a millisecond: an old one was left by a process that was killed right then. */
function removeForgottenGuard(guard) {
  unlessCode('ENOENT', undefined, () => {
    if (Date.now() - statSync(guard).mtimeMs > SILENT_AFTER_MS) unlinkSync(guard);
  });
}

function touch(file) {
  const now = new Date();
  unlessCode('ENOENT', undefined, () => utimesSync(file, now, now));
}

function isAlive(pid) {
  if (!/^[1-9]\d*$/.test(pid)) return false;
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function unlessCode(code, otherwise, action) {
  try {
    return action();
  } catch (error) {
    if (error.code === code) return otherwise;
    throw error;
  }
}
