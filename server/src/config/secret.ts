/**
 * The secret that all nodes of a cluster share: it admits peers and signs session tokens. Never in the cluster file,
 * never logged.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { IsochronError } from '@isochron/core';
import { readPrivate } from './private-file.js';

/** Shortest secret accepted, in characters. */
export const MIN_SECRET_LENGTH = 16;

/** The secret of a cluster, and a second one while it is replaced. */
export interface Secrets {
  /** Proves the node to its peers, and signs tokens. */
  readonly secret: string;
  /** Accepted as well, from peers and in tokens, during a replacement. */
  readonly secondSecret?: string | undefined;
}

/**
 * Loads the secret: from the file when one is named, else from `ISOCHRON_SECRET`. A second line is the second secret.
 * @throws IsochronError `CONFIG_INVALID` when there is none, it cannot be read or others can read it, one is too short,
 * or there are more than two
 */
export function loadSecrets(source: { secretFile?: string | undefined; env?: NodeJS.ProcessEnv }): Secrets {
  const text = source.secretFile === undefined ? (source.env ?? process.env).ISOCHRON_SECRET : read(source.secretFile);
  if (text === undefined) {
    throw new IsochronError('CONFIG_INVALID', 'No cluster secret: set ISOCHRON_SECRET or give --secret-file FILE.');
  }
  const [secret, secondSecret, ...more] = text.split(/\r?\n/);
  if (more.length > 0) {
    throw new IsochronError(
      'CONFIG_INVALID',
      'There are more than two secrets: one a line, the second is accepted too.',
    );
  }
  if (secret!.length < MIN_SECRET_LENGTH || (secondSecret !== undefined && secondSecret.length < MIN_SECRET_LENGTH)) {
    throw new IsochronError('CONFIG_INVALID', `The cluster secret needs at least ${MIN_SECRET_LENGTH} characters.`);
  }
  return { secret: secret!, secondSecret };
}

function read(path: string): string {
  try {
    return readPrivate(path, (reason) => new IsochronError('CONFIG_INVALID', `The secret file ${reason}`)).trim();
  } catch (cause) {
    if (cause instanceof IsochronError) throw cause;
    throw new IsochronError('CONFIG_INVALID', `The secret file ${path} cannot be read.`, { cause });
  }
}

/**
 * The path of the secret in a data directory. A missing file is created with 256 random bits, readable by its owner
 * only.
 */
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
