/** The cost of TLS, of tokens and of access rules: the same loads with them and without them, in turn. */
import { apiCertificate, type Cluster, type Layout, REGIONS } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import { atLeast, type Row } from '../figures.js';
import type { WelcomeJob } from '../limits/tls.js';
import type { SetupJob } from '../load/setups.js';
import { type Contender, type Load, rowParts, type Turn, takeTurns } from '../rounds.js';
import { tokenFor } from '../users.js';
import { IN_FLIGHT, readsBySdk } from './sdk-reads.js';

const COMMITTERS = 64;
const SETUPS_IN_FLIGHT = 16;
/** One process is busy with fewer set-ups than a node can make. */
const SETUP_CLIENTS = 2;
/** About as long as a node's welcome. */
const WELCOME_CHARACTERS = 600;
/** Session set-ups that a node has to manage in a second. */
const LEAST_SETUPS = 500;

type Kind = 'reads' | 'commits';

/** What the second cluster of a comparison has, and the first one lacks. */
const PROTECTION = {
  tls: { layout: { tls: true }, words: 'TLS' },
  users: { layout: { tls: true, users: true }, words: 'TLS, a token and a rule' },
} as const;

const WHAT: Readonly<Record<Kind, (protection: string) => string>> = {
  reads: (over) => `SDK one-shot reads of 1 local key with ${over}: 1 WebSocket, ${IN_FLIGHT} in flight`,
  commits: (over) => `durable one-key commits with ${over}: SDK, ${COMMITTERS} sessions over ${REGIONS.length} regions`,
};

export const tls: Benchmark = {
  name: 'tls',
  about: 'reads, commits and session set-ups with TLS, and with tokens and rules too, ÷ without',
  run: async (context) => {
    const plain = await startPaused(context, 'off', {});
    const tls = await startPaused(context, 'tls', PROTECTION.tls.layout);
    const users = await startPaused(context, 'users', PROTECTION.users.layout);
    const rows: Row[] = [];
    for (const kind of ['reads', 'commits'] as const) {
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
        });
    }
    rows.push(...(await setupRows(context, { plain, tls, users })));
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
  return { ...(kind === 'reads' ? readsBySdk(context, cluster) : commits(context, cluster)), turn: turnOf(cluster) };
}

/** A cluster runs in its own turns only. */
const turnOf = (cluster: Cluster): Turn => ({ begins: () => cluster.resume(), ends: () => cluster.pause() });

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

/** Set-ups beside their limit: the same client at a bare WebSocket server, with the same TLS. */
async function setupRows(
  context: Context,
  clusters: Readonly<Record<'plain' | 'tls' | 'users', Cluster>>,
): Promise<Row[]> {
  const { plain, tls, users } = clusters;
  const server = context.helper<WelcomeJob, number>('./limits/tls.js');
  const job = { ...apiCertificate(tls, tls.nodes[0]!), answerCharacters: WELCOME_CHARACTERS };
  const bare = { endpoint: `https://127.0.0.1:${await server.run(job)}`, ca: tls.ca };
  const samples = await takeTurns(
    {
      plain: setupsAt(context, plain),
      tls: setupsAt(context, tls),
      users: setupsAt(context, users),
      bare: setups(context, server.pid, bare),
    },
    context.roundOptions,
  );
  const limit = { what: 'bare `ws` with TLS', samples: samples.bare };
  const target = atLeast(LEAST_SETUPS);
  const loads = `${SETUP_CLIENTS} clients, ${SETUPS_IN_FLIGHT} at a time, a connection each`;
  const row = (over: string): Pick<Row, 'benchmark' | 'what'> => ({
    benchmark: 'tls',
    what: `session set-ups with ${over} at one node: ${loads}`,
  });
  return [
    { ...row('neither TLS nor a token'), ...rowParts(samples.plain) },
    { ...row(PROTECTION.tls.words), ...rowParts(samples.tls, limit), target },
    { ...row(PROTECTION.users.words), ...rowParts(samples.users, limit), target },
  ];
}

function setupsAt(context: Context, cluster: Cluster): Contender {
  const [{ url: endpoint, process }] = cluster.nodes as [(typeof cluster.nodes)[number]];
  const job = { endpoint, ca: cluster.ca, token: tokenFor(cluster.configFile) };
  return { ...setups(context, process.pid, job), turn: turnOf(cluster) };
}

function setups(context: Context, pid: number, job: Pick<SetupJob, 'endpoint' | 'ca' | 'token'>): Contender {
  const clients = Array.from({ length: SETUP_CLIENTS }, (_, i) =>
    context.helper<SetupJob, Load>('./load/setups.js', String(i)),
  );
  const inFlight = SETUPS_IN_FLIGHT / SETUP_CLIENTS;
  return {
    pids: [pid],
    clientPids: clients.map((client) => client.pid),
    run: async (durationMs) =>
      together(await Promise.all(clients.map((client) => client.run({ ...job, inFlight, durationMs })))),
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
