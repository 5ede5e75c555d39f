/** The page on disk. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeMeasured, encodeMeasured, type Measured, NOTHING_MEASURED } from './measured.js';
import { MEASURED_FILE, PAGE_FOLDER, renderPage } from './page.js';

/** The measurements behind the page in a folder; empty without a page. @throws Error for a damaged file */
export function readMeasured(docs: string): Measured {
  const file = join(docs, MEASURED_FILE);
  return existsSync(file) ? decodeMeasured(readFileSync(file, 'utf8')) : NOTHING_MEASURED;
}

/** Writes the measurements and their page, and removes plots that the page no longer has. */
export function writePage(docs: string, measured: Measured): void {
  const text = encodeMeasured(measured);
  const files = new Map([...renderPage(decodeMeasured(text)), [MEASURED_FILE, text]]);
  mkdirSync(join(docs, PAGE_FOLDER), { recursive: true });
  for (const name of readdirSync(join(docs, PAGE_FOLDER))) {
    if (!files.has(`${PAGE_FOLDER}/${name}`)) rmSync(join(docs, PAGE_FOLDER, name));
  }
  for (const [file, content] of files) writeFileSync(join(docs, file), content);
}
