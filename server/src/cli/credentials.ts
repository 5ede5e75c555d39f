/** The secrets of a command and the authorities that it trusts: from a file, the environment, or an argument. */
import { readFileSync } from 'node:fs';
import { readPrivate } from '../config/private-file.js';
import { UsageError } from './failures.js';

/** Options that give secrets. */
export interface CredentialOptions {
  readonly apiKey?: string;
  readonly apiKeyFile?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  /** File with certificate authorities. */
  readonly ca?: string;
}

/** The secrets that a command uses. */
export interface Credentials {
  readonly apiKey?: string;
  readonly token?: string;
  /** Certificate authorities in PEM form. */
  readonly ca?: string;
}

/**
 * @param warn gets a line for a secret among the arguments: every user of the machine can read those
 * @throws UsageError for a secret that is given twice; the system's error for a file that cannot be read
 */
export function credentialsOf(
  options: CredentialOptions,
  env: NodeJS.ProcessEnv,
  warn: (line: string) => void,
): Credentials {
  const secret = (name: string, argument?: string, file?: string, variable?: string): string | undefined => {
    if (argument !== undefined && file !== undefined) throw new UsageError(`give either --${name} or --${name}-file`);
    if (argument !== undefined) {
      const variableName = `ISOCHRON_${name.replace('-', '_').toUpperCase()}`;
      warn(`warning: other users of this machine can read --${name}; use --${name}-file or ${variableName}`);
      return argument;
    }
    // Environments often set a variable to an empty value instead of removing it.
    return file === undefined ? variable || undefined : secretIn(file);
  };
  const apiKey = secret('api-key', options.apiKey, options.apiKeyFile, env.ISOCHRON_API_KEY);
  const token = secret('token', options.token, options.tokenFile, env.ISOCHRON_TOKEN);
  const ca = authorities(options.ca ?? (env.ISOCHRON_CA || undefined));
  return {
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(token === undefined ? {} : { token }),
    ...(ca === undefined ? {} : { ca }),
  };
}

/** @throws UsageError for a file that others can read; the system's error for one that cannot be read */
export const secretIn = (file: string): string => readPrivate(file, (reason) => new UsageError(reason)).trim();

function authorities(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  const text = readFileSync(file, 'utf8');
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  throw new UsageError(`${file} holds no certificate in PEM form; --ca names the file of an authority, such as ca.pem`);
}
