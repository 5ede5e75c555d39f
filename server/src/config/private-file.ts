/** Files with secrets: those that other users of the machine can read are refused. */
import { readFileSync, statSync } from 'node:fs';

/** Others may do nothing with the file. Its group may read it where the system's administrator owns it. */
const OTHERS = 0o077;
const GROUP_MAY_READ = 0o037;

/**
 * Why a file is open to others, and what to do about it; undefined where it is not. Pipes are private, and Windows
 * has no modes.
 *
 * @throws the system's error for a file that is not there
 */
export function openToOthers(path: string): string | undefined {
  if (process.platform === 'win32') return undefined;
  const stats = statSync(path);
  if (!stats.isFile()) return undefined;
  if ((stats.mode & (stats.uid === 0 ? GROUP_MAY_READ : OTHERS)) === 0) return undefined;
  const mode = (stats.mode & 0o777).toString(8).padStart(3, '0');
  return `${path} has mode ${mode}, so that other users of this machine can use it: chmod 600 ${path}`;
}

/**
 * The text of a file with a secret.
 * @param refuse makes the error for a file that is open to others
 * @throws that error; the system's for a file that cannot be read
 */
export function readPrivate(path: string, refuse: (reason: string) => Error): string {
  const reason = openToOthers(path);
  if (reason !== undefined) throw refuse(reason);
  return readFileSync(path, 'utf8');
}
