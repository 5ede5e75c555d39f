/** The papers' transactions beside PostgreSQL and Redis on the same work, with more keys than a small cache holds. */
import { REGIONS } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import { atMost, type Line, ratioAtLeast } from '../figures.js';
import type { KeyChoice } from '../load/mixes.js';
import type { RivalFillJob, RivalTransactionJob } from '../rivals/load.js';
import { type RivalName, type RivalServer, startRival } from '../rivals/servers.js';
import { type Contender, cpuOf, type Load, takeTurns } from '../rounds.js';
import { rateLine } from './compare.js';
import { MIXES, startPaused, transactions, turnOf } from './loads.js';

const PARTITIONS = 6;
const QUICK_KEYS = 3_000;
/** Sessions over the regions. */
const SESSIONS = { readHeavy: 192, writeHeavy: 128 } as const;
const TARGETS = { readHeavy: ratioAtLeast(2), writeHeavy: ratioAtLeast(1.5) } as const;
const CPU_TARGETS = { readHeavy: atMost(300), writeHeavy: atMost(600) } as const;
const RIVALS = [
  { name: 'postgres', short: 'PostgreSQL', what: 'PostgreSQL, synchronous_commit on' },
  { name: 'redis', short: 'Redis', what: 'Redis, MULTI, fsync always' },
] as const;

type MixName = keyof typeof MIXES;
type Samples = Awaited<ReturnType<typeof takeTurns<'isochron' | RivalName>>>;

interface Race {
  readonly name: string;
  readonly keys: number;
  readonly choices: readonly KeyChoice[];
}

const RACES: readonly Race[] = [
  { name: 'race', keys: 300_000, choices: ['zipf', 'uniform'] },
  { name: 'race-million', keys: 1_000_000, choices: ['zipf', 'uniform'] },
];

export const raceBenchmarks: readonly Benchmark[] = RACES.map((race) => ({
  name: race.name,
  about: `the paper's transactions over ${race.keys.toLocaleString('en-US')} keys ÷ PostgreSQL and Redis`,
  run: (context) => run(context, race),
}));

async function run(context: Context, { name, keys, choices }: Race): Promise<Line[]> {
  const keysPerPartition = Math.ceil((context.settings.quick ? QUICK_KEYS : keys) / PARTITIONS);
  const cluster = await startPaused(context, name, { partitions: PARTITIONS }, { keysPerPartition });
  const rivals: Rival[] = [];
  try {
    for (const { name: rival } of RIVALS) {
      const started = await startFilled(context, rival, name, cluster.configFile, keysPerPartition);
      if (started !== undefined) rivals.push(started);
    }
    const lines: Line[] = [];
    for (const choice of context.settings.quick ? choices.slice(0, 1) : choices)
      for (const mix of ['readHeavy', 'writeHeavy'] as const) {
        const isochron: Contender = {
          ...transactions(context, cluster, MIXES[mix].mix, {
            sessions: SESSIONS[mix],
            keysPerPartition,
            keys: choice,
          }),
          turn: turnOf(cluster),
        };
        const others = rivals.map((rival) => [rival.name, rival.contender(mix, choice)] as const);
        const contenders = { isochron, ...Object.fromEntries(others) } as Record<'isochron' | RivalName, Contender>;
        const samples = await takeTurns(contenders, context.roundOptions);
        const on = `${(keysPerPartition * PARTITIONS).toLocaleString('en-US')} keys, ${choice}`;
        lines.push(
          ...linesOf(
            mix,
            on,
            samples,
            rivals.map((rival) => rival.name),
          ),
        );
      }
    return lines;
  } finally {
    await context.stopCluster(name);
    for (const rival of rivals) await rival.stop();
  }
}

function linesOf(mix: MixName, on: string, samples: Samples, rivals: readonly RivalName[]): Line[] {
  const { what } = MIXES[mix];
  const subject = `transactions of ${what}: SDK, ${SESSIONS[mix]} sessions over ${REGIONS.length} regions, ${on}`;
  const beside = RIVALS.filter(({ name }) => rivals.includes(name));
  const missing = RIVALS.filter(({ name }) => !rivals.includes(name)).map(({ short }) => short);
  const note = missing.length === 0 ? {} : { note: `Left out, as not installed here: ${missing.join(', ')}.` };
  const lines = beside.map(({ name, short, what: rival }): Line => {
    const target = name === 'postgres' ? { target: TARGETS[mix] } : {};
    return rateLine({ of: 'isochron', what: `${subject}; ${short}`, beside: [name, rival], ...target }, samples);
  });
  if (lines.length === 0) lines.push(rateLine({ of: 'isochron', what: subject }, samples));
  lines[0] = { ...lines[0]!, ...note };
  const [cpu, limit] = [cpuOf(samples.isochron), samples.postgres && cpuOf(samples.postgres)];
  if (cpu === undefined) return lines;
  const cpuOfWork = `CPU of a transaction of ${what}: client and servers, ${on}`;
  const least = limit && { limit: { what: RIVALS[0].what, figure: limit } };
  return [...lines, { what: cpuOfWork, unit: 'µs', measured: cpu, target: CPU_TARGETS[mix], ...least }];
}

interface Rival {
  readonly name: RivalName;
  contender(mix: MixName, keys: KeyChoice): Contender;
  stop(): Promise<void>;
}

/** A store with all keys; undefined where it is not installed. */
async function startFilled(
  context: Context,
  name: RivalName,
  race: string,
  configFile: string,
  keysPerPartition: number,
): Promise<Rival | undefined> {
  context.progress.step(`starting ${name}`);
  const server: RivalServer | undefined = await startRival(name);
  if (server === undefined) return undefined;
  const helper = context.helper<RivalFillJob | RivalTransactionJob, Load>('./rivals/load.js', `${race} ${name}`);
  const values = context.valuesOf();
  const common = { rival: name, address: server.address, configFile, keysPerPartition, values } as const;
  await helper.run({ ...common, kind: 'fill', sessions: Math.max(...Object.values(SESSIONS)) });
  const { seed } = context.settings;
  return {
    name,
    contender: (mix, keys) => ({
      get pids() {
        return server.pids();
      },
      // Only the load generator is compiled while it runs.
      coldProcesses: 1,
      clientPids: [helper.pid],
      workload: `${race} ${name} ${mix}`,
      run: (durationMs, round) =>
        helper.run({
          ...common,
          kind: 'transaction',
          regions: REGIONS,
          mix: MIXES[mix].mix,
          keys,
          sessions: SESSIONS[mix],
          durationMs,
          seed: seed + round,
        }),
    }),
    stop: async () => {
      await helper.stop();
      await server.stop();
    },
  };
}
