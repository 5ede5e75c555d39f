#!/usr/bin/env node
import { runSimCommand } from './command.js';
import { EXIT } from './exit-codes.js';

// A reader that closes the pipe early, such as head.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 141 : EXIT.broken));

process.exitCode = await runSimCommand(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return EXIT.broken;
});
