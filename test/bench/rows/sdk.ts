/** The work of a client at the main cluster, beside its limit: reads, commits, the paper's transactions. */
import { join } from 'node:path';
import { READ_HEAVY, type TransactionMix, WRITE_HEAVY } from '@isochron/workload';
import { type Cluster, REGIONS } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import { atMost, type Line, ratioAtLeast } from '../figures.js';
import type { LevelJob } from '../limits/leveldb.js';
import type { BareTransactionJob } from '../limits/transactions.js';
import type { BareLoadJob } from '../load/bare-transactions.js';
import type { HttpTransactionJob } from '../load/http-transactions.js';
import type { WsJob } from '../load/ws.js';
import { type Contender, cpuOf, type Load, takeTurns } from '../rounds.js';
import { compared, rateLine } from './compare.js';
import {
  COMMITTERS,
  commits,
  IN_FLIGHT,
  MIXES,
  reads,
  type SdkWork,
  SESSIONS,
  sdkLoad,
  transactions,
} from './loads.js';

/** A read of one key of the workload and its answer, in the JSON of the SDK and the node. */
const REQUEST_BYTES = '{"type":"read","id":1234567,"keys":["default/key-12345"]}'.length;
const ANSWER_BYTES =
  '{"type":"values","id":1234567,"snapshot":195387383808000,"values":[[195387383808000,"\\"00000000\\""]]}'.length;
/** Sessions of one process with one node. */
const SHARING = 16;
/** At least as many concurrent transactions as the SDK has sessions. */
const CONNECTIONS = Math.ceil(SESSIONS / REGIONS.length);
const BARE_TRANSACTION = `bare: 2 round trips, ${REGIONS.length} servers, the same frames, durable twice`;

export const sdkReads = compared({
  name: 'sdk-reads',
  about: 'SDK one-shot reads over one WebSocket ÷ bare ws echo',
  contenders: async (context, cluster) => ({ limit: await bareEcho(context), subject: reads(context, cluster) }),
  lines: [
    {
      of: 'subject',
      what: `SDK one-shot reads of 1 local key: 1 WebSocket, ${IN_FLIGHT} in flight`,
      beside: ['limit', 'bare ws echo'],
      target: ratioAtLeast(0.6),
      details: { requestBytes: REQUEST_BYTES, answerBytes: ANSWER_BYTES },
    },
  ],
});

async function bareEcho(context: Context): Promise<Contender> {
  const { url, pid } = await context.echo(ANSWER_BYTES);
  const client = context.helper<WsJob, Load>('./load/ws.js');
  const job = { url, connections: 1, inFlight: IN_FLIGHT, messageBytes: REQUEST_BYTES };
  return { pids: [pid], run: (durationMs) => client.run({ ...job, durationMs }) };
}

/** Sessions that are spread over the regions; and all in one region, which shows the cost of spreading. */
export const sdkCommits = compared({
  name: 'sdk-commits',
  about: 'durable one-key commits ÷ raw LevelDB synced group commit',
  contenders: (context, cluster) => ({
    limit: rawLevel(context),
    spread: commits(context, cluster),
    one: commits(context, cluster, REGIONS.slice(0, 1)),
  }),
  lines: [
    {
      of: 'spread',
      what: `durable one-key commits: SDK, ${COMMITTERS} sessions over ${REGIONS.length} regions`,
      beside: ['limit', 'raw LevelDB'],
      target: ratioAtLeast(0.2),
    },
    {
      of: 'one',
      what: `durable one-key commits: SDK, ${COMMITTERS} sessions in one region`,
      beside: ['limit', 'raw LevelDB'],
    },
  ],
});

function rawLevel(context: Context): Contender {
  const helper = context.helper<LevelJob, Load>('./limits/leveldb.js');
  const location = join(context.folder, 'raw-leveldb');
  const job = { location, committers: COMMITTERS, values: context.valuesOf(), keys: 4 * context.keysPerPartition };
  return { pids: [helper.pid], run: (durationMs) => helper.run({ ...job, durationMs }) };
}

export const httpTransactions = compared({
  name: 'http-transactions',
  about: 'interactive transactions (open, read 19 keys, commit 1) over HTTP ÷ through the SDK',
  contenders: (context, cluster) => ({
    http: overHttp(context, cluster),
    sdk: transactions(context, cluster, READ_HEAVY),
  }),
  lines: [
    {
      of: 'http',
      what: `interactive transactions of 19 reads + 1 write: HTTP, ${REGIONS.length} regions, ${CONNECTIONS} connections each`,
      beside: ['sdk', `SDK, ${SESSIONS} sessions`],
      target: ratioAtLeast(0.5),
    },
  ],
});

function overHttp(context: Context, { configFile, nodes, pids }: Cluster): Contender {
  const { keysPerPartition, settings } = context;
  const targets = nodes.map(({ region, url }) => ({ region, url }));
  const values = context.valuesOf();
  const job = { configFile, targets, mix: READ_HEAVY, keysPerPartition, connections: CONNECTIONS, values };
  const helper = context.helper<HttpTransactionJob, Load>('./load/http-transactions.js');
  return { pids, run: (durationMs, round) => helper.run({ ...job, durationMs, seed: settings.seed + round }) };
}

/** CPU time of a transaction, µs. The targets of rates are in `sweeps.ts`. */
const CPU_TARGETS = { readHeavy: atMost(350), writeHeavy: atMost(750) };

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
    return (['readHeavy', 'writeHeavy'] as const).flatMap((of): Line[] => {
      const { what } = MIXES[of];
      const limit = of === 'readHeavy' ? 'bareRead' : 'bareWrite';
      const rate = rateLine(
        {
          of,
          what: `transactions of ${what}: SDK, durable, ${SESSIONS} sessions over ${REGIONS.length} regions`,
          beside: [limit, BARE_TRANSACTION],
        },
        samples,
      );
      const [cpu, limitCpu] = [cpuOf(samples[of]), cpuOf(samples[limit])];
      if (cpu === undefined) return [rate];
      return [
        rate,
        {
          what: `CPU of a transaction of ${what}: client and nodes`,
          unit: 'µs',
          measured: cpu,
          limit: limitCpu && { what: BARE_TRANSACTION, figure: limitCpu },
          target: CPU_TARGETS[of],
        },
      ];
    });
  },
};

/** The same transactions between bare servers, each of which sends its commits to the next server. */
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

/** The work of sessions that share a socket, or have sockets of their own. */
const SHARED: readonly { readonly what: string; readonly work: SdkWork }[] = [
  { what: 'one-shot reads of 1 local key', work: { kind: 'read', sessions: SHARING, inFlight: 1 } },
  { what: 'durable one-key commits', work: { kind: 'commit', sessions: SHARING } },
  { what: 'transactions of 19 reads + 1 write', work: { kind: 'transaction', sessions: SHARING, mix: READ_HEAVY } },
];

/** Sessions of one process with one node: on sockets of their own (the limit), and on a shared one. */
export const sharedSockets: Benchmark = {
  name: 'shared-sockets',
  about: 'sessions on a shared socket ÷ on sockets of their own, with the CPU of all processes',
  run: async (context) => {
    const cluster = await context.filledCluster();
    const lines: Line[] = [];
    for (const { what, work } of SHARED) {
      const contender = (own: boolean): Contender => ({
        pids: [...cluster.pids, context.sdk().pid],
        run: sdkLoad(context, cluster, { ...work, regions: REGIONS.slice(0, 1), own }),
      });
      const samples = await takeTurns({ own: contender(true), shared: contender(false) }, context.roundOptions);
      const cpuUsOf = (of: keyof typeof samples) => samples[of].map(({ cpuUs }) => cpuUs);
      lines.push(
        rateLine(
          {
            of: 'shared',
            what: `${what}: ${SHARING} sessions on a shared socket`,
            beside: ['own', 'own sockets'],
            details: { cpuUsOfRounds: { shared: cpuUsOf('shared'), own: cpuUsOf('own') } },
          },
          samples,
        ),
      );
    }
    return lines;
  },
};
