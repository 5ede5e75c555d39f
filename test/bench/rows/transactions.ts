/** The paper's transactions: 95:5 local to multi-region, zipf 0.99, 4 partitions, 8-byte values. */
import { join } from 'node:path';
import { READ_HEAVY, type TransactionMix, WRITE_HEAVY } from '@isochron/workload';
import { type Cluster, REGIONS } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import { atMost, type Row, type Target } from '../figures.js';
import type { BareTransactionJob } from '../limits/transactions.js';
import type { BareLoadJob } from '../load/bare-transactions.js';
import type { ValueRule } from '../load/values.js';
import { type Contender, cpuOf, type Load, rowParts, type Sample, takeTurns } from '../rounds.js';

/** The default number of sessions. */
export const SESSIONS = 32;
export const MIXES = {
  readHeavy: { what: '19 reads + 1 write', mix: READ_HEAVY },
  writeHeavy: { what: '10 reads + 10 writes', mix: WRITE_HEAVY },
} as const;
/** CPU time of a transaction, µs. The targets of rates are in `sessions.ts`. */
const TARGETS = { readHeavy: atMost(350), writeHeavy: atMost(750) };
const LIMIT = `bare: 2 round trips, ${REGIONS.length} servers, the same frames, durable twice`;

export const sdkTransactions: Benchmark = {
  name: 'sdk-transactions',
  about: "the paper's transactions, 19+1 and 10+10 ÷ the same frames between bare servers",
  run: async (context) => {
    const cluster = await context.filledCluster();
    const bare = await bareServers(context, cluster);
    const samples = await takeTurns(
      {
        bareRead: bare(READ_HEAVY),
        readHeavy: transactions(context, cluster, READ_HEAVY),
        bareWrite: bare(WRITE_HEAVY),
        writeHeavy: transactions(context, cluster, WRITE_HEAVY),
      },
      context.roundOptions,
    );
    return [
      ...rowsOf(MIXES.readHeavy.what, samples.readHeavy, samples.bareRead, TARGETS.readHeavy),
      ...rowsOf(MIXES.writeHeavy.what, samples.writeHeavy, samples.bareWrite, TARGETS.writeHeavy),
    ];
  },
};

function rowsOf(what: string, samples: readonly Sample[], limit: readonly Sample[], target: Target): Row[] {
  const benchmark = sdkTransactions.name;
  const [cpu, limitCpu] = [cpuOf(samples), cpuOf(limit)];
  const rate: Row = {
    benchmark,
    what: `transactions of ${what}: SDK, durable, ${SESSIONS} sessions over ${REGIONS.length} regions`,
    ...rowParts(samples, { what: LIMIT, samples: limit }),
  };
  if (cpu === undefined) return [rate];
  return [
    rate,
    {
      benchmark,
      what: `CPU of a transaction of ${what}: client and nodes`,
      unit: 'µs',
      measured: cpu,
      limit: limitCpu && { what: LIMIT, figure: limitCpu },
      target,
    },
  ];
}

/** The options of a load of the paper's transactions. */
export interface TransactionLoad {
  readonly sessions?: number;
  readonly keysPerPartition?: number;
  readonly values?: ValueRule;
}

/** The paper's transactions on a filled cluster. */
export function transactions(
  context: Context,
  { configFile, pids }: Pick<Cluster, 'configFile' | 'pids'>,
  mix: TransactionMix,
  load: TransactionLoad = {},
): Contender {
  const { sessions = SESSIONS, keysPerPartition = context.keysPerPartition, values = context.valuesOf() } = load;
  const job = { kind: 'transaction', mix, configFile, keysPerPartition, regions: REGIONS, sessions, values } as const;
  const { seed } = context.settings;
  return {
    pids,
    clientPids: [context.sdk().pid],
    workload: `${configFile} ${mix.reads}+${mix.writes}`,
    run: (durationMs, round) => context.sdk().run({ ...job, durationMs, seed: seed + round }),
  };
}

/** The same transactions between bare servers, each of which sends its commits to the next one. */
async function bareServers(
  context: Context,
  { configFile }: Pick<Cluster, 'configFile'>,
): Promise<(mix: TransactionMix) => Contender> {
  const { keysPerPartition } = context;
  const values = context.valuesOf();
  const servers = REGIONS.map((region) =>
    context.helper<BareTransactionJob, number>('./limits/transactions.js', region),
  );
  const folder = (i: number): string => join(context.folder, `bare-${i}`);
  const serve = { kind: 'serve', configFile, keysPerPartition, values } as const;
  const ports = await Promise.all(servers.map((server, i) => server.run({ ...serve, folder: folder(i) })));
  const urls = ports.map((port) => `ws://127.0.0.1:${port}`);
  await Promise.all(servers.map((server, i) => server.run({ kind: 'follow', url: urls[(i + 1) % urls.length]! })));
  const client = context.helper<BareLoadJob, Load>('./load/bare-transactions.js');
  const job = { configFile, keysPerPartition, urls, regions: REGIONS, sessions: SESSIONS, values };
  const { seed } = context.settings;
  return (mix) => ({
    pids: servers.map(({ pid }) => pid),
    clientPids: [client.pid],
    run: (durationMs, round) => client.run({ ...job, mix, durationMs, seed: seed + round }),
  });
}
