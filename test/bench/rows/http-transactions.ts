/** Interactive transactions over HTTP, in three regions at once, beside the same transactions through the SDK. */
import { READ_HEAVY } from '@isochron/workload';
import { REGIONS } from '../cluster.js';
import type { Benchmark } from '../context.js';
import { ratioAtLeast } from '../figures.js';
import type { HttpTransactionJob } from '../load/http-transactions.js';
import { type Load, rowParts, takeTurns } from '../rounds.js';
import { SESSIONS, transactions } from './transactions.js';

export const httpTransactions: Benchmark = {
  name: 'http-transactions',
  about: 'interactive transactions (open, read 19 keys, commit 1) over HTTP ÷ through the SDK',
  run: async (context) => {
    const cluster = await context.filledCluster();
    const { configFile, nodes, pids } = cluster;
    const { keysPerPartition, settings } = context;
    const targets = nodes.map(({ region, url }) => ({ region, url }));
    // At least as many concurrent transactions as the SDK has sessions.
    const connections = Math.ceil(SESSIONS / targets.length);
    const values = context.valuesOf();
    const job = { configFile, targets, mix: READ_HEAVY, keysPerPartition, connections, values };
    const helper = context.helper<HttpTransactionJob, Load>('./load/http-transactions.js');
    const samples = await takeTurns(
      {
        http: {
          pids,
          clientPids: [helper.pid],
          run: (durationMs, round) => helper.run({ ...job, durationMs, seed: settings.seed + round }),
        },
        sdk: transactions(context, cluster, READ_HEAVY),
      },
      context.roundOptions,
    );
    return [
      {
        benchmark: 'http-transactions',
        what: `interactive transactions of 19 reads + 1 write: HTTP, ${REGIONS.length} regions, ${connections} connections each`,
        ...rowParts(samples.http, { what: `SDK, ${SESSIONS} sessions`, samples: samples.sdk }),
        target: ratioAtLeast(0.5),
      },
    ];
  },
};
