/** The secret that all nodes of a cluster share: it admits peers and signs session tokens. Never in the cluster file, never logged. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { IsochronError } from '@isochron/core';

/** Shortest secret accepted, in characters. */
export const MIN_SECRET_LENGTH = 16;

/**
 * Loads the secret: from the file when one is named, else from `ISOCHRON_SECRET`.
 * @throws IsochronError `CONFIG_INVALID` when there is none, it cannot be read or it is too short
 */
export function loadSecret(source: { secretFile?: string | undefined; env?: NodeJS.ProcessEnv }): string {
  const secret =
    source.secretFile === undefined ? (source.env ?? process.env).ISOCHRON_SECRET : read(source.secretFile);
  if (secret === undefined) {
    throw new IsochronError('CONFIG_INVALID', 'No cluster secret: set ISOCHRON_SECRET or give --secret-file FILE.');
  }
  if (secret.length < MIN_SECRET_LENGTH) {
    throw new IsochronError('CONFIG_INVALID', `The cluster secret needs at least ${MIN_SECRET_LENGTH} characters.`);
  }
  return secret;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (cause) {
    throw new IsochronError('CONFIG_INVALID', `The secret file ${path} cannot be read.`, { cause });
  }
}

/** The path of the secret in a data directory; made with 256 random bits, readable by its owner only, where there is none yet. */
export function ensureSecretFile(dataDir: string): string {
  const path = join(dataDir, 'cluster.secret');
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(path, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (!(typeof error === 'object' && error !== null && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  return path;
}
