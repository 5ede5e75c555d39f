/** Folders, and files that are replaced in one step. */
import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Replaces a file in one step. @param mode permissions, for instance 0o600 for a secret */
export function replaceFile(path: string, text: string, mode = 0o644): void {
  const draft = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(draft, text, { mode });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/**
 * Makes a folder with those above it, for this user only. Not `mkdir` with `recursive`: that never ends where a file
 * system like `/proc` refuses new names with ENOENT.
 */
export function makeFolder(path: string): void {
  if (existsSync(path) && statSync(path).isDirectory()) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent);
  mkdirSync(path, 0o700);
}
