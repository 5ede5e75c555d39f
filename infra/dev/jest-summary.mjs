// A Jest reporter: writes the counts of a run to the file named by ISOCHRON_TEST_SUMMARY, for test.mjs to add up.

import { writeFileSync } from 'node:fs';

export default class JestSummary {
  onRunComplete(_contexts, results) {
    const summary = {
      passed: results.numPassedTests,
      // A file that cannot be loaded has no tests to count, and must not go unnoticed.
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
    };
    writeFileSync(process.env.ISOCHRON_TEST_SUMMARY, JSON.stringify(summary));
  }
}
