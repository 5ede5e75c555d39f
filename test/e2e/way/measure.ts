/** Runs a commit and a live query over real nodes, and prints which functions ran in each part of the way. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HLC_TICKS_PER_MS } from '@isochron/core';
import { connect, type IsochronClient } from '@isochron/sdk';
import { Cluster, type ClusterOptions, cleanUp } from '../harness.js';
import { BUILT_ISOCHRON } from '../processes.js';
import { until } from '../until.js';
import { Coverage, type Ran } from './coverage.js';

const PROBE = new URL('probe.js', import.meta.url).href;
/** Time of the cluster that passes without any request, in ms of stable time. */
const IDLE_MS = 2_000;
/** A process that counts calls starts slowly. */
const READY_TIMEOUT_MS = 180_000;
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

/** How often each step is done. What a step needs runs every time; what only coincides with a step does not. */
const TIMES = 3;
const PATIENT = { timeoutMs: READY_TIMEOUT_MS };

const own = new Coverage();
let written = 0;

/** A cluster whose processes count calls. */
class Counted {
  #taken = 0;

  private constructor(
    readonly cluster: Cluster,
    readonly folder: string,
  ) {}

  static async start(options: ClusterOptions): Promise<Counted> {
    const cluster = await Cluster.prepare(options);
    const folder = join(cluster.folder, 'way');
    mkdirSync(folder);
    const env = { ISOCHRON_WAY_FOLDER: folder };
    for (const { id } of cluster.nodes)
      cluster.launch(id, { execArgv: ['--import', PROBE], isochron: BUILT_ISOCHRON, env });
    await cluster.ready(undefined, READY_TIMEOUT_MS);
    return new Counted(cluster, folder);
  }

  /** The functions that ran in all processes since the last call. */
  async take(): Promise<Ran> {
    const files = this.cluster.nodes.map(({ id }) => {
      const child = this.cluster.process(id);
      child.signal('SIGUSR2');
      return join(this.folder, `${child.pid}-${this.#taken}.json`);
    });
    this.#taken++;
    await until('all nodes have written their functions', () => files.every((file) => existsSync(file)), PATIENT);
    return merged([own.take(), ...files.map((file) => JSON.parse(readFileSync(file, 'utf8')) as Ran)]);
  }

  /** Lets stable time pass without a request. */
  async idle(): Promise<void> {
    const { id } = this.cluster.nodes[0]!;
    const ust = async () => (await this.cluster.status(id)).node.ust;
    const end = (await ust()) + IDLE_MS * HLC_TICKS_PER_MS;
    await until('stable time passes', async () => (await ust()) > end, PATIENT);
  }

  /** The functions that run in a cluster without clients after it has served. What ends late is not among them. */
  async aftermath(): Promise<Ran> {
    await this.idle();
    await this.take();
    await this.idle();
    return this.take();
  }
}

function merged(parts: readonly Ran[]): Ran {
  const all = new Map<string, Set<string>>();
  for (const part of parts)
    for (const [file, names] of Object.entries(part)) all.set(file, new Set([...(all.get(file) ?? []), ...names]));
  return Object.fromEntries([...all].map(([file, names]) => [file, [...names]]));
}

const client = (counted: Counted, region: string): Promise<IsochronClient> =>
  connect({ endpoints: [counted.cluster.endpoint(region)] });

/** Writes keys on all nodes, and waits until every region shows them. */
async function commit(writer: IsochronClient): Promise<void> {
  const { write } = await writer.transaction((tx) => {
    for (const key of KEYS) tx.collection('notes').set(key, { n: ++written });
  });
  await write?.stable();
}

let missing = 0;
async function readAll(reader: IsochronClient): Promise<void> {
  // A key without a document is looked up on disk.
  await reader.getMany([...KEYS, `none-${++missing}`].map((key) => `notes/${key}`));
  await reader.transaction(async (tx) => {
    for (const key of KEYS) await tx.collection('notes').get(key);
  });
}

/** A live query from its first result to the one that shows a commit. */
async function watch(reader: IsochronClient, writer: IsochronClient): Promise<void> {
  const seen: number[] = [];
  const query = reader.collection<{ n: number }>('notes').watch();
  const end = query.subscribe(({ documents }) => {
    seen.push(Math.max(...documents.map(({ value }) => value.n)));
  });
  await until('the live query has its first result', () => seen.length > 0, PATIENT);
  await commit(writer);
  await until('the live query has the change', () => seen.at(-1) === written, PATIENT);
  end();
}

/** The functions of a step of the way, each time that it is done. */
async function timesOf(counted: Counted, step: () => Promise<void>): Promise<Ran[]> {
  const times: Ran[] = [];
  for (let i = 0; i < TIMES; i++) {
    await step();
    times.push(await counted.take());
  }
  return times;
}

/** In one region nothing is replicated. */
async function oneRegion() {
  const counted = await Counted.start({ regions: ['virginia'], nodesPerRegion: 2 });
  const writer = await client(counted, 'virginia');
  await counted.idle();
  const start = await counted.take();
  const write = await timesOf(counted, async () => {
    await commit(writer);
    // A commit with one cohort.
    await (await writer.collection('notes').set('a', {})).stable();
  });
  await writer.close();
  const after = await counted.aftermath();
  await counted.cluster.dispose();
  return { idle: [start, after], write };
}

async function threeRegions() {
  const counted = await Counted.start({ regions: ['virginia', 'oregon', 'ireland'] });
  const [writer, reader] = [await client(counted, 'virginia'), await client(counted, 'ireland')];
  await counted.idle();
  const start = await counted.take();
  const replicate = await timesOf(counted, () => commit(writer));
  const read = await timesOf(counted, () => readAll(reader));
  const live = await timesOf(counted, () => watch(reader, writer));
  await Promise.all([writer.close(), reader.close()]);
  const after = await counted.aftermath();
  await counted.cluster.dispose();
  return { idle: [start, after], replicate, read, live };
}

try {
  const { idle, write } = await oneRegion();
  const { idle: others, ...steps } = await threeRegions();
  process.stdout.write(`${JSON.stringify({ idle: [...idle, ...others], write, ...steps })}\n`);
} finally {
  await cleanUp();
}
