/** The built command `npm run sim`. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { Summary } from '@isochron/sim/cli/summary';

/** Runs the command. In the process of the tests a run takes three times as long. */
export async function simulate(protocol: string, ...options: string[]): Promise<{ code: number; output: string }> {
  const main = join(__dirname, '../../packages/sim/dist/cli/main.js');
  return new Promise((resolve) => {
    const args = [main, '--protocol', protocol, ...options];
    const child = execFile(process.execPath, args, { maxBuffer: 2 ** 27 }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, output: `${stdout}${stderr}` }),
    );
  });
}

/** The summaries that `--json` prints, one a line. */
export const summariesIn = (output: string): Summary[] =>
  output.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Summary] : []));
