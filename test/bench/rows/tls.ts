/** The cost of TLS, of tokens and of access rules: the same loads with them and without them, in turn. */
import { type Cluster, type Layout, REGIONS } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import { atLeast, type Row } from '../figures.js';
import type { SetupJob } from '../load/setups.js';
import { type Contender, type Load, rowParts, takeTurns } from '../rounds.js';
import { tokenFor } from '../users.js';
import { IN_FLIGHT, readsBySdk } from './sdk-reads.js';

const COMMITTERS = 64;
const SETUPS_IN_FLIGHT = 16;
/** One process is busy with fewer set-ups than a node can make. */
const SETUP_CLIENTS = 2;
/** Session set-ups that a node has to manage in a second. */
const LEAST_SETUPS = 500;

type Kind = 'reads' | 'commits' | 'setups';

/** What the second cluster of a comparison has, and the first one lacks. */
const PROTECTION = {
  tls: { layout: { tls: true }, words: 'TLS' },
  users: { layout: { tls: true, users: true }, words: 'TLS, a token and a rule' },
} as const;

const WHAT: Readonly<Record<Kind, (protection: string) => string>> = {
  reads: (over) => `SDK one-shot reads of 1 local key with ${over}: 1 WebSocket, ${IN_FLIGHT} in flight`,
  commits: (over) => `durable one-key commits with ${over}: SDK, ${COMMITTERS} sessions over ${REGIONS.length} regions`,
  setups: (over) =>
    `session set-ups with ${over} at one node: ${SETUP_CLIENTS} clients, ${SETUPS_IN_FLIGHT} at a time, a connection each`,
};

export const tls: Benchmark = {
  name: 'tls',
  about: 'reads, commits and session set-ups with TLS, and with tokens and rules too, ÷ without',
  run: async (context) => {
    const plain = await startPaused(context, 'off', {});
    const tls = await startPaused(context, 'tls', PROTECTION.tls.layout);
    const users = await startPaused(context, 'users', PROTECTION.users.layout);
    const rows: Row[] = [];
    for (const kind of ['reads', 'commits', 'setups'] as const) {
      const samples = await takeTurns(
        {
          plain: contender(context, plain, kind),
          tls: contender(context, tls, kind),
          users: contender(context, users, kind),
        },
        context.roundOptions,
      );
      for (const name of ['tls', 'users'] as const)
        rows.push({
          benchmark: 'tls',
          what: WHAT[kind](PROTECTION[name].words),
          ...rowParts(samples[name], { what: 'without', samples: samples.plain }),
          ...(kind === 'setups' ? { target: atLeast(LEAST_SETUPS) } : {}),
        });
    }
    for (const name of ['off', 'tls', 'users']) await context.stopCluster(`protection-${name}`);
    return rows;
  },
};

async function startPaused(context: Context, name: string, layout: Partial<Layout>): Promise<Cluster> {
  const cluster = await context.cluster(`protection-${name}`, layout);
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

function setups(context: Context, { nodes, ca, configFile }: Cluster): Contender {
  const [{ url, process }] = nodes as [(typeof nodes)[number]];
  const clients = Array.from({ length: SETUP_CLIENTS }, (_, i) =>
    context.helper<SetupJob, Load>('./load/setups.js', String(i)),
  );
  return {
    pids: [process.pid],
    clientPids: clients.map(({ pid }) => pid),
    run: async (durationMs) => {
      const inFlight = SETUPS_IN_FLIGHT / SETUP_CLIENTS;
      const job = { endpoint: url, ca, token: tokenFor(configFile), inFlight, durationMs };
      return together(await Promise.all(clients.map((client) => client.run(job))));
    },
  };
}

/** The load of clients that ran at the same time, with the latencies of the slowest one. */
function together(loads: readonly Load[]): Load {
  const most = (of: (load: Load) => number | undefined): number => Math.max(...loads.map((load) => of(load) ?? 0));
  return {
    operations: loads.reduce((sum, { operations }) => sum + operations, 0),
    elapsedMs: most(({ elapsedMs }) => elapsedMs),
    latency: { p50Ms: most(({ latency }) => latency?.p50Ms), p99Ms: most(({ latency }) => latency?.p99Ms) },
  };
}
