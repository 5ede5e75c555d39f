// The result of the last run of the tier `all`, which is kept with the documents.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runQuietly } from './child.mjs';
import { root } from './steps.mjs';

const FILE = 'docs/tested.json';

/** Keeps the result of a run with the tested commit. With uncommitted changes the result is that of no commit. */
export async function keepResult({ passed, failed, skipped, table }) {
  const git = (...args) => runQuietly('git', args, { cwd: root });
  const [head, status] = [await git('rev-parse', 'HEAD'), await git('status', '--porcelain')];
  if (head.code !== 0 || status.output !== '') {
    console.error(`${FILE} is not written: the result would not be that of a commit.`);
    return;
  }
  const date = new Date().toISOString().slice(0, 10);
  const result = { date, commit: head.output.trim(), passed, failed, skipped, table: table.split('\n') };
  writeFileSync(join(root, FILE), `${JSON.stringify(result, null, 2)}\n`);
  console.log(`The result is in ${FILE}.`);
}
