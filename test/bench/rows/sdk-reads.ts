/** One-shot reads of one local key over one WebSocket, 64 in flight. */
import type { Benchmark, Context } from '../context.js';
import { ratioAtLeast } from '../figures.js';
import type { WsJob } from '../load/ws.js';
import { type Contender, type Load, rowParts, takeTurns } from '../rounds.js';

/** Concurrent reads. */
export const IN_FLIGHT = 64;
/** A read of one key of the workload and its answer, in the JSON of the SDK and the node. */
const REQUEST_BYTES = '{"type":"read","id":1234567,"keys":["default/key-12345"]}'.length;
const ANSWER_BYTES =
  '{"type":"values","id":1234567,"snapshot":195387383808000,"values":[[195387383808000,"\\"00000000\\""]]}'.length;

type FilledCluster = Awaited<ReturnType<Context['filledCluster']>>;

export const sdkReads: Benchmark = {
  name: 'sdk-reads',
  about: 'SDK one-shot reads over one WebSocket ÷ bare ws echo',
  run: async (context) => {
    const cluster = await context.filledCluster();
    const limit = await echo(context);
    const subject = readsBySdk(context, cluster);
    const samples = await takeTurns({ limit, subject }, context.roundOptions);
    return [
      {
        benchmark: 'sdk-reads',
        what: `SDK one-shot reads of 1 local key: 1 WebSocket, ${IN_FLIGHT} in flight`,
        ...rowParts(samples.subject, { what: 'bare ws echo', samples: samples.limit }),
        target: ratioAtLeast(0.6),
        details: { requestBytes: REQUEST_BYTES, answerBytes: ANSWER_BYTES },
      },
    ];
  },
};

/** The reads of one process with the TypeScript SDK, at the first node of the cluster. */
export function readsBySdk(context: Context, { configFile, nodes }: FilledCluster): Contender {
  const { keysPerPartition } = context;
  const [{ region, process }] = nodes as [(typeof nodes)[number]];
  return {
    pids: [process.pid],
    run: (durationMs, round) =>
      context.sdk().run({
        kind: 'read',
        configFile,
        keysPerPartition,
        regions: [region],
        sessions: 1,
        inFlight: IN_FLIGHT,
        values: context.valuesOf(),
        durationMs,
        seed: context.settings.seed + round,
      }),
  };
}

async function echo(context: Context): Promise<Contender> {
  const { url, pid } = await context.echo(ANSWER_BYTES);
  const client = context.helper<WsJob, Load>('./load/ws.js');
  const job = { url, connections: 1, inFlight: IN_FLIGHT, messageBytes: REQUEST_BYTES };
  return { pids: [pid], run: (durationMs) => client.run({ ...job, durationMs }) };
}
