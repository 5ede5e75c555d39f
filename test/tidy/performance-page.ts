import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readMeasured } from '../bench/page/files.js';
import { MEASURED_FILE, PAGE_FOLDER, renderPage } from '../bench/page/page.js';
import type { Finding } from './source.js';

/**
 * Files of the page of figures that differ from what `measured.json` beside them gives, or do not belong to the page.
 */
export function pageFindings(docs: string): Finding[] {
  const files = renderPage(readMeasured(docs));
  const textOf = (file: string) => (existsSync(join(docs, file)) ? readFileSync(join(docs, file), 'utf8') : undefined);
  const changed = [...files].filter(([file, text]) => textOf(file) !== text).map(([file]) => file);
  const folder = join(docs, PAGE_FOLDER);
  const names = existsSync(folder) ? readdirSync(folder).map((name) => `${PAGE_FOLDER}/${name}`) : [];
  const stray = names.filter((name) => !files.has(name) && name !== MEASURED_FILE);
  return [
    ...changed.map(
      (file) => `docs/${file}: is not what measured.json gives; npm run bench -- --from docs/${MEASURED_FILE}`,
    ),
    ...stray.map((file) => `docs/${file}: does not belong to the page`),
  ];
}
