/** The hashes of the files that guard a node, as its peers compare them. */
import type { Protection } from '@isochron/wire';
import type { AuthConfig, AuthFile } from '../auth/auth-file.js';
import { canonicalHash } from '../config/canonical.js';
import type { OwnProtection } from '../node/protection.js';
import type { FollowedRules } from './followed-rules.js';

/** What guards a node. Without keys and a file of credentials every caller is served, without rules every operation. */
export interface Guards {
  readonly access: Pick<FollowedRules, 'hash' | 'onChange'> | undefined;
  readonly auth: Pick<AuthFile, 'current' | 'onChange'> | undefined;
  /** Keys of the environment: each node may have its own. */
  readonly apiKeys: readonly string[];
}

/** The hashes follow the files. */
export const protectionOf = (guards: Guards): OwnProtection => ({
  get current() {
    return hashesOf(guards);
  },
  onChange: (listener) => {
    guards.access?.onChange(listener);
    guards.auth?.onChange(listener);
  },
});

function hashesOf({ access, auth, apiKeys }: Guards): Protection {
  const environment = apiKeys.length === 0 ? null : canonicalHash('API keys of the environment');
  return { rules: access?.hash ?? null, users: auth === undefined ? environment : hashOfUsers(auth.current) };
}

/** Of issuers and keys with all settings; API keys are hashes in the file already. */
export const hashOfUsers = ({ issuers, keys }: AuthConfig): string =>
  canonicalHash({ issuers, keys: keys.map((key) => ({ ...key, roles: [...key.roles] })) });
