/**
 * The cost table: the costs of a transaction, by part of the system; records, frames, bytes and system calls. Windows
 * take turns: without any observer, with V8's profilers, with strace.
 */
import { join } from 'node:path';
import type { Cluster } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import { type Figure, figureOf, type Line, type Unit } from '../figures.js';
import type { Helper } from '../jobs.js';
import type { SdkJob, SdkLoad } from '../load/sdk.js';
import { freePorts } from '../ports.js';
import { sharesByPart } from '../profile/cpu-profile.js';
import { Inspector } from '../profile/inspector.js';
import { allParts, CLIENT_PARTS, NODE_PARTS } from '../profile/parts.js';
import { SyscallCount } from '../profile/syscalls.js';
import { type Counts, cpuUse, difference, ioUse } from '../profile/usage.js';
import { type Load, takeTurns } from '../rounds.js';
import { COMMITTERS, MIXES, type SdkWork, SESSIONS, sdkLoad } from './loads.js';

/** Calls that are shown by name; the rest is one line. */
const CALLS = ['read', 'write', 'writev', 'pwrite64', 'fdatasync', 'futex', 'epoll_pwait'] as const;
const TRACED = 'strace';
const NOT_TRACED = 'System calls by name are not available: strace could not count them on this machine.';

/** A workload is a column of the table. */
interface Workload {
  readonly column: string;
  readonly work: SdkWork;
}

const WORKLOADS: readonly Workload[] = [
  ...Object.values(MIXES).map(({ what, mix }): Workload => {
    return { column: what, work: { kind: 'transaction', sessions: SESSIONS, mix } };
  }),
  { column: 'durable one-key commit', work: { kind: 'commit', sessions: COMMITTERS } },
];

export const profile: Benchmark = {
  name: 'profile',
  about: 'the cost of a transaction: CPU by part, records, frames, bytes, system calls',
  run: async (context) => {
    if (process.platform !== 'linux') {
      context.progress.line('profile is left out: only Linux reports the CPU time of threads');
      return [];
    }
    const cluster = await context.cluster('profile', { inspected: true });
    await context.fill(cluster, { table: context.keysPerPartition });
    const [port] = (await freePorts(1)) as [number];
    const client = context.helper<SdkJob, SdkLoad>('./load/sdk.js', 'profiled', [
      `--inspect=127.0.0.1:${port}`,
      '--inspect-publish-uid=http',
    ]);
    // An empty job: when the process answers, it listens for the inspector.
    await client.run({
      kind: 'fill',
      configFile: cluster.configFile,
      regions: [],
      sessions: 0,
      keys: { numbered: 0 },
      values: context.valuesOf(),
      singly: false,
    });
    const ports = [...cluster.nodes.map(({ inspector }) => inspector!), port];
    const inspectors = await Promise.all(ports.map((each) => Inspector.connect(each)));
    const lines: Line[] = [];
    try {
      for (const workload of WORKLOADS)
        lines.push(...(await costs({ context, cluster, client, inspectors }, workload)));
    } finally {
      for (const inspector of inspectors) inspector.close();
      await client.stop();
      await context.stopCluster('profile');
    }
    return lines;
  },
};

interface Bench {
  readonly context: Context;
  readonly cluster: Cluster;
  readonly client: Helper<SdkJob, SdkLoad>;
  /** Of the nodes, then of the client. */
  readonly inspectors: readonly Inspector[];
}

/** The figures of a window for one operation, by line of the table. */
type Window = Map<string, { readonly unit: Unit; readonly value: number }>;

async function costs(bench: Bench, { column, work }: Workload): Promise<Line[]> {
  const { context, cluster } = bench;
  const windows: { readonly [Kind in 'plain' | 'profiled' | 'traced']: Window[] } = {
    plain: [],
    profiled: [],
    traced: [],
  };
  const run = sdkLoad(context, cluster, { ...work, counted: true }, bench.client);
  const kept =
    (kind: keyof typeof windows, watch: (run: () => Promise<SdkLoad>) => Promise<[SdkLoad, Window]>) =>
    async (durationMs: number, round: number): Promise<Load> => {
      const [load, window] = await watch(() => run(durationMs, round));
      if (round > 0) windows[kind].push(window);
      return load;
    };
  const contender = { pids: cluster.pids, workload: column };
  await takeTurns(
    {
      plain: { ...contender, run: kept('plain', (load) => plain(bench, load)) },
      profiled: { ...contender, run: kept('profiled', (load) => profiled(bench, load)) },
      traced: { ...contender, run: kept('traced', (load) => traced(bench, load)) },
    },
    context.roundOptions,
  );
  const whole = linesOf(windows.plain);
  const parts = scaled(linesOf(windows.profiled), whole);
  const partsBelow = (line: string): Lines => parts.filter(([part]) => part.startsWith(`${line}: `));
  const lines = [...whole.flatMap((line) => [line, ...partsBelow(line[0])]), ...linesOf(windows.traced)];
  const note = lines.some(([line]) => line.startsWith(TRACED)) ? undefined : NOT_TRACED;
  return lines.map(([line, { unit, figure }]) => ({
    what: `${column}: ${line}`,
    unit,
    measured: figure,
    cell: { line, column },
    note,
  }));
}

const MAIN = { nodes: 'nodes, main threads', client: 'client, main thread' } as const;

/** CPU time without an observer, and all counters. */
async function plain({ cluster, client }: Bench, run: () => Promise<SdkLoad>): Promise<[SdkLoad, Window]> {
  const before = await seen(cluster, client.pid);
  const load = await run();
  const after = await seen(cluster, client.pid);
  const { operations, frames = { sent: 0, received: 0, bytes: 0 } } = load;
  const io = difference(before.io, after.io);
  const counted = difference(before.counters, after.counters);
  const cpu = (of: 'nodes' | 'client', thread: 'mainMs' | 'otherMs'): number =>
    (after[of][thread] - before[of][thread]) * 1000;
  const figures: [string, Unit, number][] = [
    [
      'CPU in all',
      'µs',
      (['nodes', 'client'] as const).reduce((sum, of) => sum + cpu(of, 'mainMs') + cpu(of, 'otherMs'), 0),
    ],
    [MAIN.nodes, 'µs', cpu('nodes', 'mainMs')],
    ['nodes, other threads', 'µs', cpu('nodes', 'otherMs')],
    [MAIN.client, 'µs', cpu('client', 'mainMs')],
    ['client, other threads', 'µs', cpu('client', 'otherMs')],
    ['durable records', '', counted.records ?? 0],
    ['durable batches', '', counted.batches ?? 0],
    ['messages between nodes', '', counted.sentMessages ?? 0],
    ['frames between nodes', '', counted.sentFrames ?? 0],
    ['bytes between nodes', '', counted.sentBytes ?? 0],
    ['session messages, both ways', '', frames.sent + frames.received],
    ['session bytes, both ways', '', frames.bytes],
    ['bytes to the disks', '', io.diskBytes ?? 0],
    ['calls of read and write, nodes', '', io.calls ?? 0],
  ];
  return [load, perOperation(figures, operations)];
}

/** CPU time of main threads by part, with the profilers on. */
async function profiled(
  { cluster, client, inspectors }: Bench,
  run: () => Promise<SdkLoad>,
): Promise<[SdkLoad, Window]> {
  await Promise.all(inspectors.map((inspector) => inspector.start()));
  const pids = [...cluster.pids, client.pid];
  const before = pids.map((pid) => cpuUse([pid]));
  const load = await run();
  const mainUs = pids.map((pid, i) => (cpuUse([pid]).mainMs - before[i]!.mainMs) * 1000);
  const profiles = await Promise.all(inspectors.map((inspector) => inspector.stop()));
  const byLine = new Map<string, number>();
  profiles.forEach((each, i) => {
    const isClient = i === profiles.length - 1;
    const rules = isClient ? CLIENT_PARTS : NODE_PARTS;
    const shares = sharesByPart(each, rules);
    for (const part of allParts(rules)) {
      const line = `${isClient ? MAIN.client : MAIN.nodes}: ${part}`;
      byLine.set(line, (byLine.get(line) ?? 0) + (shares.get(part) ?? 0) * mainUs[i]!);
    }
  });
  const figures = [...byLine].map(([line, us]): [string, Unit, number] => [line, 'µs', us]);
  return [load, perOperation(figures, load.operations)];
}

/** System calls by name. Empty if they cannot be traced. */
async function traced({ cluster, context }: Bench, run: () => Promise<SdkLoad>): Promise<[SdkLoad, Window]> {
  const count = await SyscallCount.start(cluster.pids, join(context.folder, 'syscalls'));
  const load = await run();
  const calls = (await count?.stop()) ?? new Map<string, number>();
  const all = [...calls.values()].reduce((sum, own) => sum + own, 0);
  const shown = CALLS.map((name) => [name, calls.get(name) ?? 0] as const);
  const others = shown.reduce((left, [, own]) => left - own, all);
  const lines = [['system calls', all] as const, ...shown, ['others', others] as const];
  const figures = lines.map(([name, own]): [string, Unit, number] => [`${TRACED}, nodes: ${name}`, '', own]);
  return [load, perOperation(all === 0 ? [] : figures, load.operations)];
}

async function seen({ nodes, pids }: Cluster, clientPid: number) {
  const statuses = await Promise.all(nodes.map((node) => node.status()));
  const counters: Record<string, number> = {};
  for (const { counters: own } of statuses) {
    for (const [name, value] of Object.entries(own)) counters[name] = (counters[name] ?? 0) + value;
  }
  return { counters: counters as Counts, io: ioUse(pids), nodes: cpuUse(pids), client: cpuUse([clientPid]) };
}

const perOperation = (figures: readonly [string, Unit, number][], operations: number): Window =>
  new Map(figures.map(([line, unit, value]) => [line, { unit, value: value / operations }]));

type Lines = [string, { readonly unit: Unit; readonly figure: Figure }][];

/** Each line over all windows; 0 for a window that lacks it. */
function linesOf(windows: readonly Window[]): Lines {
  const names = [...new Set(windows.flatMap((window) => [...window.keys()]))];
  return names.map((line) => {
    const unit = windows.find((window) => window.has(line))!.get(line)!.unit;
    return [line, { unit, figure: figureOf(windows.map((window) => window.get(line)?.value ?? 0)) }];
  });
}

/** A profiler has a cost of its own: its parts are scaled to the main threads' time without it. */
function scaled(parts: Lines, whole: Lines): Lines {
  return Object.values(MAIN).flatMap((main) => {
    const own = parts.filter(([line]) => line.startsWith(`${main}: `));
    const sum = own.reduce((all, [, { figure }]) => all + figure.median, 0);
    const target = whole.find(([line]) => line === main)?.[1].figure.median ?? sum;
    const factor = sum === 0 ? 1 : target / sum;
    return own.map(([line, { unit, figure }]): Lines[number] => {
      return [line, { unit, figure: figureOf(figure.samples.map((value) => value * factor)) }];
    });
  });
}
