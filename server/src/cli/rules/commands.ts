/** The commands of `isochron rules`. */
import type { Command } from 'commander';
import { examples } from '../help.js';
import type { RulesOptions } from './command.js';

export function rulesCommands(program: Command): void {
  const rules = program
    .command('rules')
    .description('check access rules, and run their cases')
    .addHelpText('after', examples('isochron rules check rules.yaml', 'isochron rules test rules.yaml'));
  const withOptions = (command: Command): Command =>
    command
      .option('--config <file>', 'cluster file: rules may name its keyspaces only')
      .option('--json', 'print JSON', false);
  withOptions(rules.command('check <file>').description('check that a node can use the rules of a file')).action(
    async (file: string, options: RulesOptions) => (await import('./command.js')).runCheck(file, options),
  );
  withOptions(
    rules.command('test <file>').description('run the cases of a file, and show which rules they cover'),
  ).action(async (file: string, options: RulesOptions) => (await import('./command.js')).runTest(file, options));
}
