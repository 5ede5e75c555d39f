#!/usr/bin/env node
import { runCli } from './program.js';

// A reader that closes the pipe early (`isochron export | head`) is not a fault to report.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 141 : 1));

// Not process.exit: output that is still on its way to a pipe would be lost.
process.exitCode = await runCli(process.argv.slice(2));
