/** A real browser, without a window. */
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { ROOT, run } from './processes.js';

/** Whether `npm ci` has installed the browser: it is built for Linux on x64. */
const BUNDLED = process.platform === 'linux' && process.arch === 'x64';

/**
 * Starts Chromium; elsewhere than on Linux, the Chrome that is installed. @param folder where the former is unpacked
 */
export async function launchBrowser(folder: string): Promise<Browser> {
  if (!BUNDLED) return chromium.launch({ channel: 'chrome' });
  // Containers have no sandbox, and the only pages are those of tests.
  return chromium.launch({ executablePath: await unpacked(folder), args: ['--no-sandbox'] });
}

/** The path of the browser, which its package unpacks to the folder for temporary files. */
async function unpacked(folder: string): Promise<string> {
  const script = "console.log(await (await import('@sparticuz/chromium')).default.executablePath());";
  const options = { cwd: join(ROOT, 'test'), env: { TMPDIR: folder } };
  const { code, stdout, stderr } = await run(process.execPath, ['--input-type=module', '--eval', script], options);
  if (code !== 0) throw new Error(`Chromium could not be unpacked:\n${stderr}`);
  return stdout.trim();
}
