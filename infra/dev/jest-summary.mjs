// A Jest reporter: writes the counts of a run and the time of each file to the file named by ISOCHRON_TEST_SUMMARY, for
// checks.mjs to add up.

import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';

export default class JestSummary {
  onRunComplete(_contexts, results) {
    const summary = {
      passed: results.numPassedTests,
      // A file that cannot be loaded has no tests to count, and must not go unnoticed.
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
      files: results.testResults.map(({ testFilePath, perfStats }) => ({
        file: relative(process.cwd(), testFilePath),
        ms: perfStats.runtime,
      })),
    };
    writeFileSync(process.env.ISOCHRON_TEST_SUMMARY, JSON.stringify(summary));
  }
}
