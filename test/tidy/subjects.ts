/** Subjects of commits. */
import type { Finding } from './source.js';

const MAXIMUM_WIDTH = 72;

/** @param log lines of a commit's short hash, a space, and its subject */
export function subjectFindings(log: string): Finding[] {
  return log
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => {
      const [hash = '', ...words] = line.split(' ');
      const { length } = words.join(' ');
      return length <= MAXIMUM_WIDTH ? [] : [`${hash}: a subject of ${length} characters, more than ${MAXIMUM_WIDTH}`];
    });
}
