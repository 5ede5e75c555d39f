// The order of the test files: the longest first, so that no processor is idle while another one has a long file left.
import Sequencer from '@jest/test-sequencer';

/** Files that take far longer than the others. Jest measures durations too, but a clean clone has none. */
const LONGEST = [
  '/test/mutants/mutants.test.ts',
  '/test/sim/sim.test.ts',
  '/test/sim/faults.test.ts',
  '/packages/storage/src/level-store.test.ts',
  '/packages/storage/src/wal/',
  '/packages/storage/src/',
  '/packages/sim/src/',
  '/packages/checker/src/',
  '/test/e2e/swift',
  '/test/e2e/protocols.test.ts',
  '/test/e2e/operations.test.ts',
  '/test/e2e/costs.test.ts',
];

const rankOf = ({ path }) => {
  const rank = LONGEST.findIndex((part) => path.includes(part));
  return rank < 0 ? LONGEST.length : rank;
};

export default class LongestFirst extends Sequencer {
  /** Files of one rank keep Jest's own order. */
  sort(tests) {
    return [...super.sort(tests)].sort((a, b) => rankOf(a) - rankOf(b));
  }
}
