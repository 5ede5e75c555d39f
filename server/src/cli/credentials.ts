/** The secrets of a command: from a file, the environment, or, with a warning, an argument. */
import { readFileSync } from 'node:fs';
import { UsageError } from './failures.js';

/** Options that give secrets. */
export interface CredentialOptions {
  readonly apiKey?: string;
  readonly apiKeyFile?: string;
  readonly token?: string;
  readonly tokenFile?: string;
}

/** The secrets that a command uses. */
export interface Credentials {
  readonly apiKey?: string;
  readonly token?: string;
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
    return file === undefined ? variable || undefined : readFileSync(file, 'utf8').trim();
  };
  const apiKey = secret('api-key', options.apiKey, options.apiKeyFile, env.ISOCHRON_API_KEY);
  const token = secret('token', options.token, options.tokenFile, env.ISOCHRON_TOKEN);
  return { ...(apiKey === undefined ? {} : { apiKey }), ...(token === undefined ? {} : { token }) };
}
