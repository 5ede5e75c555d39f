/** The users of a cluster with access rules, the rules themselves, and what a client connects with. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConnectOptions } from '@isochron/sdk';

/** A principal: `sessions` is that of every client without albums. */
export type User = 'sessions' | 'owner' | 'reader' | 'stranger';

/** What a client connects with, besides endpoints. Empty without access rules and TLS. */
export type Connection = Pick<ConnectOptions, 'credentials' | 'ca'>;

/** API keys by their users. */
const API_KEYS: Readonly<Record<User, string>> = {
  sessions: 'sessions-0123456789',
  owner: 'owner-0123456789',
  reader: 'reader-0123456789',
  stranger: 'stranger-0123456789',
};

/** The name of a user in access rules and documents. */
export const principalOf = (user: User): string => `key:${user}`;

/** The keyspace of the albums. The sessions of the user `sessions` and their checks do not read it. */
export const ALBUMS = 'shared';

/**
 * Access rules with which `sessions` may do everything in the keyspace `default`, and the owner of an album decides who
 * reads its photos.
 */
export const RULES = `
rules:
  - name: sessions-do-everything
    match: default/{name=**}
    allow: [get, list, create, update, delete]
    when: auth.id == '${principalOf('sessions')}'
  - name: owners-make-albums
    match: ${ALBUMS}/albums/{album}
    allow: [create]
    when: incoming.owner == auth.id
  - name: owners-keep-albums
    match: ${ALBUMS}/albums/{album}
    allow: [get, update]
    when: document.owner == auth.id
  - name: owners-keep-photos
    match: ${ALBUMS}/photos/{album}/{photo}
    allow: [create, delete]
    when: get('${ALBUMS}/albums/' + album).owner == auth.id
  - name: readers-see-photos
    match: ${ALBUMS}/photos/{album}/{photo}
    allow: [get, list]
    when: auth.id in get('${ALBUMS}/albums/' + album).readers
`;

/** Writes the files of rules and users to a folder. Returns the options of a node that reads them. */
export function accessOptions(folder: string, rules: string): string[] {
  const [rulesFile, usersFile] = [join(folder, 'rules.yaml'), join(folder, 'users.yaml')];
  writeFileSync(rulesFile, rules);
  const keys = Object.entries(API_KEYS).map(([principal, key]) => ({
    principal,
    hash: createHash('sha256').update(key).digest('hex'),
    roles: ['reader', 'writer'],
  }));
  // JSON is YAML.
  writeFileSync(usersFile, JSON.stringify({ keys }));
  return ['--rules', rulesFile, '--auth', usersFile];
}

/** What clients of a user connect with. */
export const connectionOf = (user: User, hasRules: boolean, ca: string | undefined): Connection => ({
  ...(hasRules ? { credentials: API_KEYS[user] } : {}),
  ...(ca === undefined ? {} : { ca }),
});

/** The headers of HTTP requests with these credentials. */
export const headersOf = ({ credentials }: Connection): Record<string, string> =>
  credentials === undefined ? {} : { authorization: `Bearer ${credentials}` };
