/** The SDK over WebSocket: one-shot reads, durable commits and the paper's transactions. */
import { join } from 'node:path';
import { READ_HEAVY, type TransactionMix, WRITE_HEAVY } from '@isochron/workload';
import { REGIONS } from './cluster.js';
import type { Benchmark, Context } from './context.js';
import { type Row, ratioAtLeast, type Target } from './figures.js';
import type { LevelJob } from './limits/leveldb.js';
import type { WsJob } from './load/ws.js';
import { type Contender, type Load, rowParts, takeTurns } from './rounds.js';

const READS_IN_FLIGHT = 64;
/** A read of one key of the workload and its answer, as the SDK and the node write them in JSON. */
const READ_REQUEST_BYTES = '{"type":"read","id":1234567,"keys":["default/key-12345"]}'.length;
const READ_ANSWER_BYTES =
  '{"type":"values","id":1234567,"snapshot":195387383808000,"values":[[195387383808000,"\\"00000000\\""]]}'.length;
const COMMITTERS = 64;
const TRANSACTION_SESSIONS = 32;
const ECHO_BYTES = 1024;

/** One-shot reads of one local key over one WebSocket, 64 in flight. */
export const sdkReads: Benchmark = {
  name: 'sdk-reads',
  about: 'SDK one-shot reads over one WebSocket ÷ bare ws echo',
  run: async (context) => {
    const { configFile, nodes } = await context.filledCluster();
    const { keysPerPartition } = context;
    const [node] = nodes;
    const limit = await echoContender(context, 1, READS_IN_FLIGHT, READ_REQUEST_BYTES, READ_ANSWER_BYTES);
    const subject: Contender = {
      pids: [node!.process.pid],
      run: (durationMs, round) =>
        context.sdk().run({
          kind: 'read',
          configFile,
          keysPerPartition,
          regions: [node!.region],
          sessions: 1,
          inFlight: READS_IN_FLIGHT,
          durationMs,
          seed: context.settings.seed + round,
        }),
    };
    const samples = await takeTurns({ limit, subject }, context.roundOptions);
    return [
      {
        benchmark: 'sdk-reads',
        what: `SDK one-shot reads of 1 local key: 1 WebSocket, ${READS_IN_FLIGHT} in flight`,
        ...rowParts(samples.subject, { what: 'bare ws echo', samples: samples.limit }),
        target: ratioAtLeast(0.35),
        details: { requestBytes: READ_REQUEST_BYTES, answerBytes: READ_ANSWER_BYTES },
      },
    ];
  },
};

/** Durable one-key commits of 64 sessions, spread over the regions; and, to see what the spreading costs, all in one. */
export const sdkCommits: Benchmark = {
  name: 'sdk-commits',
  about: 'durable one-key commits ÷ raw LevelDB synced group commit',
  run: async (context) => {
    const { configFile, pids } = await context.filledCluster();
    const { keysPerPartition } = context;
    const commits = (regions: readonly string[]): Contender => ({
      pids,
      run: (durationMs, round) => {
        const seed = context.settings.seed + round;
        const job = {
          kind: 'commit',
          configFile,
          keysPerPartition,
          regions,
          sessions: COMMITTERS,
          durationMs,
          seed,
        } as const;
        return context.sdk().run(job);
      },
    });
    const contenders = { limit: levelContender(context), spread: commits(REGIONS), one: commits(REGIONS.slice(0, 1)) };
    const samples = await takeTurns(contenders, context.roundOptions);
    const row = (what: string, of: (typeof samples)['spread'], target?: Target): Row => ({
      benchmark: 'sdk-commits',
      what,
      ...rowParts(of, { what: 'raw LevelDB', samples: samples.limit }),
      target,
    });
    return [
      row(
        `durable one-key commits: SDK, ${COMMITTERS} sessions over ${REGIONS.length} regions`,
        samples.spread,
        ratioAtLeast(0.12),
      ),
      row(`durable one-key commits: SDK, ${COMMITTERS} sessions in one region`, samples.one),
    ];
  },
};

/** The paper's transactions: 95:5 local to multi-region, zipf 0.99, 4 partitions, 8-byte values. */
export const sdkTransactions: Benchmark = {
  name: 'sdk-transactions',
  about: "the paper's transactions, 19+1 and 10+10 ÷ bare ws echo",
  run: async (context) => {
    const { pids } = await context.filledCluster();
    const mix = async (transactions: TransactionMix): Promise<Contender> => {
      const run = await transactionLoad(context, transactions);
      return { pids, run };
    };
    const contenders = {
      limit: await echoContender(context, TRANSACTION_SESSIONS, 1, ECHO_BYTES, ECHO_BYTES),
      readHeavy: await mix(READ_HEAVY),
      writeHeavy: await mix(WRITE_HEAVY),
    };
    const samples = await takeTurns(contenders, context.roundOptions);
    const row = (what: string, of: (typeof samples)['limit'], bound: number): Row => ({
      benchmark: 'sdk-transactions',
      what: `${what}: SDK, durable, ${TRANSACTION_SESSIONS} sessions over ${REGIONS.length} regions`,
      ...rowParts(of, { what: 'bare ws echo, 1 KiB', samples: samples.limit }),
      target: ratioAtLeast(bound),
    });
    return [
      row('transactions of 19 reads + 1 write', samples.readHeavy, 0.08),
      row('transactions of 10 reads + 10 writes', samples.writeHeavy, 0.05),
    ];
  },
};

/** The load of the paper's transactions on the main cluster, or on another one with the same keys. */
export async function transactionLoad(
  context: Context,
  mix: TransactionMix,
  configFile?: string,
): Promise<Contender['run']> {
  const file = configFile ?? (await context.filledCluster()).configFile;
  return (durationMs, round) =>
    context.sdk().run({
      kind: 'transaction',
      mix,
      configFile: file,
      keysPerPartition: context.keysPerPartition,
      regions: REGIONS,
      sessions: TRANSACTION_SESSIONS,
      durationMs,
      seed: context.settings.seed + round,
    });
}

async function echoContender(
  context: Context,
  connections: number,
  inFlight: number,
  messageBytes: number,
  answerBytes: number,
): Promise<Contender> {
  const { url, pid } = await context.echo(answerBytes);
  const client = context.helper<WsJob, Load>('./load/ws.js');
  return { pids: [pid], run: (durationMs) => client.run({ url, connections, inFlight, messageBytes, durationMs }) };
}

function levelContender(context: Context): Contender {
  const helper = context.helper<LevelJob, Load>('./limits/leveldb.js');
  const location = join(context.folder, 'raw-leveldb');
  const keys = 4 * context.keysPerPartition;
  return {
    pids: [helper.pid],
    run: (durationMs) => helper.run({ location, committers: COMMITTERS, valueBytes: 10, keys, durationMs }),
  };
}
