/** The secrets of a command: from a file, the environment, or, with a warning, an argument. */
import { readFileSync } from 'node:fs';
import { UsageError } from './failures.js';

/** What a command was given. */
export interface CredentialOptions {
  readonly apiKey?: string;
  readonly apiKeyFile?: string;
  readonly token?: string;
  readonly tokenFile?: string;
}

/** What it uses. */
export interface Credentials {
  readonly apiKey?: string;
  readonly token?: string;
}

/**
 * @param warn gets a line for a secret that stands among the arguments: every user of the machine can read those
 * @throws UsageError for one that is given twice; the system's error for a file that cannot be read
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
    // An environment often says *nothing* by an empty value.
    return file === undefined ? variable || undefined : readFileSync(file, 'utf8').trim();
  };
  const apiKey = secret('api-key', options.apiKey, options.apiKeyFile, env.ISOCHRON_API_KEY);
  const token = secret('token', options.token, options.tokenFile, env.ISOCHRON_TOKEN);
  return { ...(apiKey === undefined ? {} : { apiKey }), ...(token === undefined ? {} : { token }) };
}
