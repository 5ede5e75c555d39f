#!/usr/bin/env node
import { runCheck } from './cli.js';

process.exitCode = await runCheck(process.argv.slice(2), process);
