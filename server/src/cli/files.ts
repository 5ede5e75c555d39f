/** Files that a reader never sees half-written. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';

/** Replaces a file in one step. @param mode permissions, for instance 0o600 for what is secret */
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
