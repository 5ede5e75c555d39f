/** The commands of `isochron keys`. */
import { ROLES, type Role } from '@isochron/core';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { examples } from '../help.js';
import type { AddOptions, FileOptions } from './command.js';

const file = () => new Option('--file <file>', 'file of issuers and API keys').default('./auth.yaml');

/** Roles with commas between them. */
function roleList(text: string): readonly Role[] {
  const names = text.split(',').map((name) => name.trim());
  const roles = ROLES.filter((role) => names.includes(role));
  if (names.length === roles.length) return roles;
  throw new InvalidArgumentError(`Expected some of ${ROLES.join(', ')}, each once, with commas between them.`);
}

export function apiKeyCommands(program: Command): void {
  const keys = program
    .command('keys')
    .description('add, list and revoke the API keys in the file of "isochron node --auth"')
    .addHelpText(
      'after',
      `\nNodes read the changed file by themselves. To replace a key: add another one for its principal, and revoke the former.${examples('isochron keys add billing --roles reader,writer --expires 2030-01-31', 'isochron keys revoke 1f0e3dad')}`,
    );
  keys
    .command('add')
    .description('make a key and print it, this once')
    .argument('<principal>', 'whose key it is: 1 to 64 letters, digits and . _ @ -')
    .addOption(file())
    .option('--roles <roles>', 'roles, with commas between them', roleList, ['reader', 'writer'])
    .option('--expires <date>', 'date or time from which the key is refused, such as 2030-01-31')
    .action(async (principal: string, options: AddOptions) =>
      (await import('./command.js')).runAdd(principal, options),
    );
  keys
    .command('list')
    .description('print the keys by their hash, with principal, roles and expiry')
    .addOption(file())
    .action(async (options: FileOptions) => (await import('./command.js')).runList(options));
  keys
    .command('revoke')
    .description('remove a key, or all keys of a principal')
    .argument('<key>', 'first 8 or more digits of its hash, or its principal')
    .addOption(file())
    .action(async (key: string, options: FileOptions) => (await import('./command.js')).runRevoke(key, options));
}
