import { checkHistory } from './check.js';
import { modelHistory } from './model.js';

it('the checker judges 100,000 transactions of 30 sessions over 1,000 zipf keys (the time is printed, not judged)', () => {
  const history = [...modelHistory({ sessions: 30, transactions: 100_000, keys: 1000, opsPerTx: 4, seed: 1 })];
  const startMs = performance.now();
  const verdict = checkHistory(history);
  const elapsedMs = performance.now() - startMs;
  process.stdout.write(
    `checked ${verdict.stats.transactions} transactions in ${elapsedMs.toFixed(0)} ms, ` +
      `resident ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MiB\n`,
  );
  expect(verdict).toMatchObject({ ok: true });
}, 120_000);
