/**
 * A node's verdict on its own disk, which the disk's records cannot hold: that they must not be used any more (D10). A
 * small file in the data folder outlives the process that found the damage.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { IsochronError } from '@isochron/core';
import { CorruptRecord } from '@isochron/storage';
import { codeOfSystemError } from './system-error.js';

/**
 * - `retire`: a record is damaged, the rest is good. The node takes no new work and is rebuilt once no data are on its
 * disk alone.
 * - `rebuild`: the data are set aside at the next start, and copied anew from the peers.
 */
export interface Quarantine {
  readonly step: 'retire' | 'rebuild';
  /** For operators. */
  readonly reason: string;
}

/**
 * Damages with another cause than the disk: another version of the program wrote the record, or the program has an
 * error.
 */
const NOT_THE_DISK: ReadonlySet<string> = new Set(['version', 'malformed']);

/** Whether an error means that the disk does not hold what was written there. */
export const isDamage = (error: unknown): error is CorruptRecord =>
  error instanceof CorruptRecord && !NOT_THE_DISK.has(error.damage);

/** Whether a node's failure concerns the content of its own disk. */
export const isDiskFailure = (error: unknown): error is IsochronError =>
  isDamage(error) || (error instanceof IsochronError && error.code === 'REBUILD_NEEDED');

/** File inside the data folder. */
const FILE = 'QUARANTINE.json';

/** Written synchronously: the process is about to end. */
export function quarantine(dataDir: string, verdict: Quarantine): void {
  writeFileSync(join(dataDir, FILE), `${JSON.stringify(verdict, null, 2)}\n`);
}

/** The verdict of an earlier process, if any. A file that cannot be parsed counts as `rebuild`, the safe step. */
export function quarantineOf(dataDir: string): Quarantine | undefined {
  let text: string;
  try {
    text = readFileSync(join(dataDir, FILE), 'utf8');
  } catch (error) {
    if (codeOfSystemError(error) === 'ENOENT') return undefined;
    throw error;
  }
  return parse(text) ?? { step: 'rebuild', reason: `the file ${FILE} is damaged` };
}

function parse(text: string): Quarantine | undefined {
  try {
    const { step, reason } = Object(JSON.parse(text)) as Partial<Record<keyof Quarantine, unknown>>;
    if ((step === 'retire' || step === 'rebuild') && typeof reason === 'string') return { step, reason };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return undefined;
}

export function clearQuarantine(dataDir: string): void {
  rmSync(join(dataDir, FILE), { force: true });
}

/**
 * While a node with `durability: memory` runs, this file names the boot of the machine that its unsynced writes depend
 * on.
 */
const RUNNING = 'RUNNING';

/** The id of the machine's present boot; undefined where the system has none. */
async function bootId(): Promise<string | undefined> {
  try {
    return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  } catch {
    return undefined; // not Linux: after an unclean end no data may be used
  }
}

/**
 * In memory mode a killed process loses no writes: the operating system has them. A machine that went down has lost
 * some. Returns whether that happened.
 */
export async function lostWithTheMachine(dataDir: string): Promise<boolean> {
  let before: string;
  try {
    before = await readFile(join(dataDir, RUNNING), 'utf8');
  } catch (error) {
    if (codeOfSystemError(error) === 'ENOENT') return false;
    throw error;
  }
  return before !== (await bootId());
}

/**
 * Marks the folder: writes from now on depend on the machine. Called once the data of an earlier boot are dealt with.
 */
export async function dependOnTheMachine(dataDir: string): Promise<void> {
  writeFileSync(join(dataDir, RUNNING), (await bootId()) ?? 'unknown');
}

/** The node has closed its store: all is on disk. */
export const closedCleanly = (dataDir: string): Promise<void> => rm(join(dataDir, RUNNING), { force: true });
