/** A version of Node above the one that runs the tests, for examples that need it. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, run } from './processes.js';

const VERSION = '24.21.0';
const FOLDER = join(ROOT, 'data', `node-${VERSION}`);

/** Its executable; installed from npm, once, unless this Node is as new. */
export async function newerNode(): Promise<string> {
  if (Number.parseInt(process.versions.node, 10) >= Number.parseInt(VERSION, 10)) return process.execPath;
  const executable = join(FOLDER, 'node_modules', 'node', 'bin', 'node');
  if (existsSync(executable)) return executable;
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, 'package.json'), '{ "private": true }');
  const installed = await run('npm', ['install', '--no-audit', '--no-fund', `node@${VERSION}`], { cwd: FOLDER });
  if (installed.code !== 0 || !existsSync(executable)) throw new Error(`Node ${VERSION}: ${installed.stderr}`);
  return executable;
}
