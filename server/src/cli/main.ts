#!/usr/bin/env node
import { runCli } from './program.js';

// Someone who reads no further (`isochron export | head`) is no fault to report.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 141 : 1));

// Not process.exit: what is still on its way to a pipe would be lost.
process.exitCode = await runCli(process.argv.slice(2));
