/** The cost of TLS for clients and between nodes: the same loads with it and without it, in turn. */
import { type Cluster, REGIONS } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import { atLeast, type Row } from '../figures.js';
import type { SetupJob } from '../load/setups.js';
import { type Contender, type Load, rowParts, takeTurns } from '../rounds.js';
import { IN_FLIGHT, readsBySdk } from './sdk-reads.js';

const COMMITTERS = 64;
const SETUPS_IN_FLIGHT = 16;
/** Session set-ups that a node has to manage in a second. */
const LEAST_SETUPS = 500;

type Kind = 'reads' | 'commits' | 'setups';

const WHAT: Readonly<Record<Kind, string>> = {
  reads: `SDK one-shot reads of 1 local key over TLS: 1 WebSocket, ${IN_FLIGHT} in flight`,
  commits: `durable one-key commits over TLS: SDK, ${COMMITTERS} sessions over ${REGIONS.length} regions`,
  setups: `session set-ups over TLS at one node: ${SETUPS_IN_FLIGHT} at a time, a connection each`,
};

export const tls: Benchmark = {
  name: 'tls',
  about: 'reads, commits and session set-ups with TLS for clients and between nodes ÷ without',
  run: async (context) => {
    const [plain, secure] = [await startPaused(context, false), await startPaused(context, true)];
    const rows: Row[] = [];
    for (const kind of ['reads', 'commits', 'setups'] as const) {
      const contenders = { plain: contender(context, plain, kind), secure: contender(context, secure, kind) };
      const samples = await takeTurns(contenders, context.roundOptions);
      rows.push({
        benchmark: 'tls',
        what: WHAT[kind],
        ...rowParts(samples.secure, { what: 'without TLS', samples: samples.plain }),
        ...(kind === 'setups' ? { target: atLeast(LEAST_SETUPS) } : {}),
      });
    }
    for (const name of ['tls-off', 'tls-on']) await context.stopCluster(name);
    return rows;
  },
};

async function startPaused(context: Context, isSecure: boolean): Promise<Cluster> {
  const cluster = await context.cluster(isSecure ? 'tls-on' : 'tls-off', { tls: isSecure });
  await context.fill(cluster, { table: context.keysPerPartition });
  cluster.pause();
  return cluster;
}

function contender(context: Context, cluster: Cluster, kind: Kind): Contender {
  const turn = { begins: () => cluster.resume(), ends: () => cluster.pause() };
  if (kind === 'reads') return { ...readsBySdk(context, cluster), turn };
  return kind === 'commits' ? { ...commits(context, cluster), turn } : { ...setups(context, cluster), turn };
}

function commits(context: Context, { configFile, pids }: Cluster): Contender {
  const { keysPerPartition, settings } = context;
  const values = context.valuesOf();
  const common = { kind: 'commit', configFile, keysPerPartition, sessions: COMMITTERS, values } as const;
  return {
    pids,
    clientPids: [context.sdk().pid],
    run: (durationMs, round) =>
      context.sdk().run({ ...common, regions: REGIONS, durationMs, seed: settings.seed + round }),
  };
}

function setups(context: Context, { nodes, ca }: Cluster): Contender {
  const [{ url, process }] = nodes as [(typeof nodes)[number]];
  const helper = context.helper<SetupJob, Load>('./load/setups.js');
  return {
    pids: [process.pid],
    clientPids: [helper.pid],
    run: (durationMs) => helper.run({ endpoint: url, ca, inFlight: SETUPS_IN_FLIGHT, durationMs }),
  };
}
