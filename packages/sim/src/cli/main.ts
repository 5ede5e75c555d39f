#!/usr/bin/env node
import { runSimCommand } from './command.js';
import { EXIT } from './exit-codes.js';

process.exitCode = await runSimCommand(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return EXIT.broken;
});
