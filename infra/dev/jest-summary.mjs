// A Jest reporter: leaves the counts of a run in the file that ISOCHRON_TEST_SUMMARY names, for test.mjs to add up.

import { writeFileSync } from 'node:fs';

export default class JestSummary {
  onRunComplete(_contexts, results) {
    const summary = {
      passed: results.numPassedTests,
      // A file that cannot even be loaded has no tests to count, and must not go unseen.
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
    };
    writeFileSync(process.env.ISOCHRON_TEST_SUMMARY, JSON.stringify(summary));
  }
}
