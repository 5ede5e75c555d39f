/** Which functions of the repository run in this process. */
import { Session } from 'node:inspector';
import { fileURLToPath } from 'node:url';
import { ROOT } from '../processes.js';

/** Names of the functions that ran, by source file. A function without a name has its position and a colon. */
export type Ran = Readonly<Record<string, readonly string[]>>;

const BUILT = /^(?<folder>(?:packages\/[\w-]+|server|sdk-js))\/dist\/(?<file>.+)\.js$/;

/** Counts from its construction on. */
export class Coverage {
  readonly #session = new Session();

  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  /** The functions that ran since the last call. */
  take(): Ran {
    const ran: Record<string, string[]> = {};
    // The session answers within the call.
    this.#session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error) throw error;
      for (const { url, functions } of result) {
        const file = sourceOf(url);
        if (file === undefined) continue;
        const names = functions
          // The first function is the module itself.
          .filter(({ ranges }) => ranges[0]!.count > 0 && ranges[0]!.startOffset > 0)
          .map(({ functionName, ranges }) => functionName || `${ranges[0]!.startOffset}:`);
        if (names.length > 0) ran[file] = [...new Set(names)];
      }
    });
    return ran;
  }
}

/** The source of a compiled file of the product; undefined for others. */
function sourceOf(url: string): string | undefined {
  if (!url.startsWith('file:')) return undefined;
  const path = fileURLToPath(url);
  const match = path.startsWith(ROOT) ? BUILT.exec(path.slice(ROOT.length).replace(/^\//, '')) : null;
  return match === null ? undefined : `${match.groups!.folder}/src/${match.groups!.file}.ts`;
}
