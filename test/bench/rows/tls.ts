/** The cost of TLS, of tokens and of access rules: the same loads with them and without them, in turn. */
import { apiCertificate, type Cluster, type Layout, REGIONS } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import { atLeast, type Line } from '../figures.js';
import type { WelcomeJob } from '../limits/tls.js';
import type { SetupJob } from '../load/setups.js';
import type { Contender, Load } from '../rounds.js';
import { tokenFor } from '../users.js';
import { compare } from './compare.js';
import { COMMITTERS, commits, IN_FLIGHT, reads, startPaused, turnOf } from './loads.js';

const SETUPS_IN_FLIGHT = 16;
/** One process is busy with fewer set-ups than a node can make. */
const SETUP_CLIENTS = 2;
/** About as long as a node's welcome. */
const WELCOME_CHARACTERS = 600;
/** Session set-ups that a node has to manage in a second. */
const LEAST_SETUPS = 500;

/** The clusters of the comparison, and how the result names the protection of each. */
const PROTECTION = {
  plain: { layout: {}, words: 'neither TLS nor a token' },
  tls: { layout: { tls: true }, words: 'TLS' },
  users: { layout: { tls: true, users: true }, words: 'TLS, a token and a rule' },
} as const satisfies Record<string, { readonly layout: Partial<Layout>; readonly words: string }>;
type ProtectionName = keyof typeof PROTECTION;
const PROTECTED = ['tls', 'users'] as const;

type Clusters = Readonly<Record<ProtectionName, Cluster>>;

const WORK = [
  {
    load: reads,
    what: (over: string) => `SDK one-shot reads of 1 local key with ${over}: 1 WebSocket, ${IN_FLIGHT} in flight`,
  },
  {
    load: commits,
    what: (over: string) =>
      `durable one-key commits with ${over}: SDK, ${COMMITTERS} sessions over ${REGIONS.length} regions`,
  },
];

const clusterName = (protection: ProtectionName): string => `protection-${protection}`;

export const tls: Benchmark = {
  name: 'tls',
  about: 'reads, commits and session set-ups with TLS, and with tokens and rules too, ÷ without',
  run: async (context) => {
    const start = (name: ProtectionName) => startPaused(context, clusterName(name), PROTECTION[name].layout);
    const clusters = { plain: await start('plain'), tls: await start('tls'), users: await start('users') };
    const lines: Line[] = [];
    for (const { load, what } of WORK) {
      const contenders = ofEach(clusters, (cluster) => ({ ...load(context, cluster), turn: turnOf(cluster) }));
      const named = PROTECTED.map((of) => {
        return { of, what: what(PROTECTION[of].words), beside: ['plain', 'without'] as const };
      });
      lines.push(...(await compare(context, contenders, named)));
    }
    lines.push(...(await setupLines(context, clusters)));
    for (const name of ['plain', ...PROTECTED] as const) await context.stopCluster(clusterName(name));
    return lines;
  },
};

const ofEach = <T>({ plain, tls, users }: Clusters, make: (cluster: Cluster) => T): Record<ProtectionName, T> => ({
  plain: make(plain),
  tls: make(tls),
  users: make(users),
});

/** Set-ups beside their limit: the same client at a bare WebSocket server, with the same TLS. */
async function setupLines(context: Context, clusters: Clusters): Promise<Line[]> {
  const server = context.helper<WelcomeJob, number>('./limits/tls.js');
  const job = { ...apiCertificate(clusters.tls, clusters.tls.nodes[0]!), answerCharacters: WELCOME_CHARACTERS };
  const bare = { endpoint: `https://127.0.0.1:${await server.run(job)}`, ca: clusters.tls.ca };
  const contenders = {
    ...ofEach(clusters, (cluster) => setupsAt(context, cluster)),
    bare: setups(context, server.pid, bare),
  };
  const loads = `${SETUP_CLIENTS} clients, ${SETUPS_IN_FLIGHT} at a time, a connection each`;
  const what = (of: ProtectionName) => `session set-ups with ${PROTECTION[of].words} at one node: ${loads}`;
  const limit = { beside: ['bare', 'bare `ws` with TLS'], target: atLeast(LEAST_SETUPS) } as const;
  return compare(context, contenders, [
    { of: 'plain', what: what('plain') },
    ...PROTECTED.map((of) => ({ of, what: what(of), ...limit })),
  ]);
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
