/** The commands of `isochron certs`. */
import { type Command, Option } from 'commander';
import { examples } from '../help.js';
import { certificateHosts, integer } from '../options.js';
import type { CreateOptions, FolderOptions } from './command.js';

const out = () =>
  new Option('--out <folder>', 'folder of the certificate authority and its certificates').default('./certs');
const days = () =>
  new Option('--days <n>', 'how long the certificates are valid').argParser(integer(1, 3650)).default(365);

export function certificateCommands(program: Command): void {
  const certs = program
    .command('certs')
    .description('make a certificate authority, and the certificates of a cluster')
    .addHelpText(
      'after',
      `\nFor each node there is a folder to take to its machine. Nodes read changed files by themselves. To replace the authority:
"certs new-ca", take the folders to all machines; "certs renew", take them again; "certs drop-ca", and again.${examples('isochron certs create --config cluster.yaml --host api.example', 'isochron certs renew')}`,
    );
  certs
    .command('create')
    .description('make the authority and the certificates that are missing; overwrites none')
    .option('--config <file>', 'cluster file: an API certificate and a peer certificate for each of its nodes')
    .option(
      '--host <name>',
      'host name or address of the API; may be repeated, or a list with commas',
      certificateHosts,
      [],
    )
    .addOption(out())
    .addOption(days())
    .action(async (options: CreateOptions) => (await import('./command.js')).runCreate(options));
  certs
    .command('renew')
    .description('replace all certificates, for the same names and with new keys')
    .addOption(out())
    .addOption(days())
    .action(async (options: FolderOptions & { days: number }) => (await import('./command.js')).runRenew(options));
  certs
    .command('new-ca')
    .description('make another authority: it issues from now on, and both are accepted')
    .addOption(out())
    .action(async (options: FolderOptions) => (await import('./command.js')).runNewAuthority(options));
  certs
    .command('drop-ca')
    .description('accept the newest authority alone')
    .addOption(out())
    .action(async (options: FolderOptions) => (await import('./command.js')).runDropAuthority(options));
}
