import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { heapGrowthFlag } from './heap.js';

/** Replaces 200,000 live objects over and over, and prints the heap at its largest, in bytes. */
const CHURN = `
  const live = Array.from({ length: 200000 }, (_, i) => ({ text: 'x' + i, list: [i] }));
  let largest = 0;
  for (let i = 0; i < 3000000; i++) {
    live[(i * 7919) % live.length] = { text: 'x' + i, list: [i] };
    if (i % 20000 === 0) largest = Math.max(largest, require('node:v8').getHeapSpaceStatistics()
      .find(({ space_name }) => space_name === 'old_space').space_size);
  }
  console.log(largest);`;

/** Without other threads of the collector, whose speed depends on the machine. */
const ALONE = '--single-threaded-gc';

const largestHeap = async (...flags: string[]): Promise<number> => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [ALONE, ...flags, '-e', CHURN]);
  expect(stderr).toBe('');
  return Number(stdout);
};

describe('the heap of a node', () => {
  it('the heap of a node with little memory grows less between two collections than without its option, which V8 knows', async () => {
    const [bounded, unbounded] = [await largestHeap(heapGrowthFlag(2 ** 30 - 1)), await largestHeap()];
    expect(bounded).toBeLessThan(0.95 * unbounded);
  });

  it('the heap of a node with enough memory may double between two collections', () => {
    expect(heapGrowthFlag(2 ** 30)).toBe('--heap-growing-percent=100');
  });
});
