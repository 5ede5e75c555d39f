/** `isochron keys`: API keys in the file of `isochron node --auth`. */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import type { Role } from '@isochron/core';
import Table from 'cli-table3';
import { type Document, isCollection, isMap, parseDocument } from 'yaml';
import { digestOf, newApiKey } from '../../auth/api-keys.js';
import { type AuthConfig, type KeyConfig, parseAuthFile } from '../../auth/auth-file.js';
import { ReportedFailure } from '../failures.js';
import { replaceFile } from '../files.js';
import { print, remark } from '../output.js';
import { style } from '../status/table.js';

/** Options of all of its commands. */
export interface FileOptions {
  /** File of issuers and API keys. */
  readonly file: string;
}

export interface AddOptions extends FileOptions {
  readonly roles: readonly Role[];
  /** Date or time. */
  readonly expires?: string;
}

/** Digits of a hash that name its key. */
const ID_DIGITS = 8;

/** Adds a key, and prints it. The file, which may be missing, gets its hash. */
export function runAdd(principal: string, { file, roles, expires }: AddOptions): void {
  const document = read(file);
  const apiKey = newApiKey();
  const entry = document.createNode({
    principal,
    hash: digestOf(apiKey),
    roles: [...roles],
    ...(expires === undefined ? {} : { expires }),
  });
  if (isCollection(document.get('keys'))) document.addIn(['keys'], entry);
  else document.set('keys', [entry]);
  write(file, document);
  print(apiKey);
  remark('This key is not shown again: the file has its hash alone.');
}

/** Prints the keys of the file. */
export function runList({ file }: FileOptions): void {
  const { keys } = parseAuthFile(readFileSync(file, 'utf8'), file);
  const table = new Table({ head: ['key', 'principal', 'roles', 'expires'], style });
  for (const { hash, principal, roles, expiresAt } of keys)
    table.push([idOf(hash), principal, [...roles].join(', '), expiryOf(expiresAt)]);
  print(keys.length === 0 ? 'no keys' : table.toString());
}

/** Removes keys: one by the first digits of its hash, or all of a principal. */
export function runRevoke(name: string, { file }: FileOptions): void {
  const { keys } = parseAuthFile(readFileSync(file, 'utf8'), file);
  const revoked = keysNamed(keys, name);
  if (revoked.length === 0) throw new ReportedFailure(`INVALID_REQUEST: ${file} has no key "${name}"`);
  const document = read(file);
  const isRevoked = (hash: unknown): boolean => revoked.some((key) => key.hash === hash);
  // From the end: the places of the others stay.
  keys.forEach((_key, i) => {
    const place = ['keys', keys.length - 1 - i];
    const entry = document.getIn(place);
    if (isMap(entry) && isRevoked(entry.get('hash'))) document.deleteIn(place);
  });
  write(file, document);
  for (const { hash, principal } of revoked) print(`revoked ${idOf(hash)} of ${principal}`);
}

const keysNamed = (keys: AuthConfig['keys'], name: string): readonly KeyConfig[] => {
  const ofPrincipal = keys.filter(({ principal }) => principal === name);
  if (ofPrincipal.length > 0 || name.length < ID_DIGITS) return ofPrincipal;
  return keys.filter(({ hash }) => hash.startsWith(name));
};

const idOf = (hash: string): string => hash.slice(0, ID_DIGITS);

function expiryOf(expiresAt: number | null): string {
  if (expiresAt === null) return 'never';
  return `${new Date(expiresAt).toISOString()}${expiresAt <= Date.now() ? ' (over)' : ''}`;
}

/** The file with its comments. @throws IsochronError `CONFIG_INVALID` */
function read(file: string): Document {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '{}\n';
  parseAuthFile(text, file);
  const document = parseDocument(text);
  if (isMap(document.contents)) document.contents.flow = false;
  return document;
}

/** For its user alone: hashes are no secrets, but they show who has keys. A link stays one. */
function write(file: string, document: Document): void {
  const text = document.toString({ lineWidth: 0 });
  parseAuthFile(text, file);
  replaceFile(existsSync(file) ? realpathSync(file) : file, text, 0o600);
}
