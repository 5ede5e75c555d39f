/// <reference types="jest" />
/** Properties over random input, as tests: their number of runs, their seed, and the command that repeats a failure. */
import { relative, resolve } from 'node:path';
import fc from 'fast-check';

const ROOT = resolve(__dirname, '../..');
const { FUZZ_RUNS, FUZZ_SEED, FUZZ_PATH } = process.env;
/** The time limit of a property, for each run; it only ends a run that hangs. */
const MS_PER_RUN = 10_000;

/** The arbitraries that generate the arguments of a property. */
type Arbitraries<Args extends unknown[]> = { [Position in keyof Args]: fc.Arbitrary<Args[Position]> };

/**
 * Registers a test: the property holds for every input of the arbitraries.
 * @param runs the number of inputs, unless `FUZZ_RUNS` is set
 */
export function fuzz<Args extends [unknown, ...unknown[]]>(
  claim: string,
  runs: number,
  arbitraries: Arbitraries<Args>,
  property: (...args: Args) => void | Promise<void>,
): void {
  const numRuns = FUZZ_RUNS === undefined ? runs : wholeNumber('FUZZ_RUNS', FUZZ_RUNS);
  const test = async () => {
    const parameters: fc.Parameters<Args> = { numRuns };
    if (FUZZ_SEED !== undefined) parameters.seed = wholeNumber('FUZZ_SEED', FUZZ_SEED);
    if (FUZZ_PATH !== undefined) parameters.path = FUZZ_PATH;
    const tried = await fc.check(
      fc.asyncProperty<Args>(...arbitraries, async (...args) => {
        await property(...args);
      }),
      parameters,
    );
    if (tried.failed) throw new Error(await report(claim, tried), { cause: tried.errorInstance });
  };
  it(claim, test, 60_000 + numRuns * MS_PER_RUN);
}

async function report<Args>(claim: string, tried: fc.RunDetails<Args>): Promise<string> {
  const file = relative(ROOT, expect.getState().testPath ?? '');
  const path = tried.counterexamplePath === null ? '' : ` FUZZ_PATH=${tried.counterexamplePath}`;
  // Jest takes the name as a pattern, and the shell interprets some characters.
  const pattern = claim.replace(/[^\w ,-]/g, '.');
  const replay = `FUZZ_SEED=${tried.seed}${path} npm test -- ${file} -t "${pattern}"`;
  return `${await fc.asyncDefaultReportMessage(tried)}\n\nAgain, with the same input:\n  ${replay}\n`;
}

function wholeNumber(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new Error(`${name} is a whole number, not ${text}`);
  return number;
}
