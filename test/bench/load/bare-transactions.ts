/** The load of the bare limit of transactions: the SDK's keys and frames, two round trips each. Values are verified. */
import { once } from 'node:events';
import { Random } from '@isochron/core';
import type {
  CommitFrame,
  CommittedFrame,
  ReadFrame,
  StartedFrame,
  StartFrame,
  ValuesFrame,
} from '@isochron/wire/session-frames';
import type { TransactionMix } from '@isochron/workload';
import { WebSocket } from 'ws';
import { answerJobs } from '../jobs.js';
import type { Load } from '../rounds.js';
import { loadCluster, plain } from './loaded-cluster.js';
import { transactionsOf } from './mixes.js';
import { type ValueRule, valueFor, verify, WRITERS } from './values.js';
import { runWindow } from './window.js';

export interface BareLoadJob {
  readonly configFile: string;
  readonly keysPerPartition: number;
  /** One server for each region, in their order. */
  readonly urls: readonly string[];
  readonly regions: readonly string[];
  readonly sessions: number;
  readonly mix: TransactionMix;
  readonly values: ValueRule;
  readonly durationMs: number;
  readonly seed: number;
}

type Answer = StartedFrame | ValuesFrame | CommittedFrame;

/** A connection with one request in flight. */
class Session {
  #id = 0;
  #answered: ((answers: readonly Answer[]) => void) | undefined;

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as Answer | readonly Answer[];
      this.#answered?.(Array.isArray(message) ? (message as readonly Answer[]) : [message as Answer]);
    });
  }

  static async open(url: string): Promise<Session> {
    const socket = new WebSocket(url, { perMessageDeflate: false });
    await once(socket, 'open');
    return new Session(socket);
  }

  nextId(): number {
    return ++this.#id;
  }

  request(frames: readonly object[]): Promise<readonly Answer[]> {
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.socket.send(JSON.stringify(frames.length === 1 ? frames[0] : frames));
    });
  }
}

answerJobs<BareLoadJob, Load>(async (job) => {
  const { values } = job;
  const table = loadCluster(job.configFile).table(job.keysPerPartition);
  const random = new Random(job.seed);
  const sessions = await Promise.all(
    Array.from({ length: job.sessions }, (_, i) => Session.open(job.urls[i % job.urls.length]!)),
  );
  const generators = transactionsOf(job, table);
  try {
    return await runWindow(sessions.length, job.durationMs, async (i) => {
      const session = sessions[i]!;
      const plan = generators[i]!.nextTransaction();
      const tx = `${random.below(2 ** 30).toString(36)}.${random.below(2 ** 30).toString(36)}`;
      const start: StartFrame = { type: 'start', id: session.nextId(), tx };
      const read: ReadFrame = { type: 'read', id: session.nextId(), tx, keys: plan.reads };
      const answers = await session.request([start, read]);
      const shown = answers.find((answer) => answer.type === 'values');
      if (shown?.type !== 'values') throw new Error('the bare server answered a read with something else');
      for (const [k, key] of plan.reads.entries()) verify(values, plain(key), documentOf(shown.values[k]));
      const writes = plan.writes.map((key) => ({
        key,
        value: JSON.stringify(valueFor(values, plain(key), random.below(WRITERS))),
      }));
      const attemptRegions = [job.regions[i % job.regions.length]!];
      const { snapshot } = shown;
      const commit: CommitFrame = {
        type: 'commit',
        id: session.nextId(),
        tx,
        hwt: 0,
        sentAfter: snapshot,
        attemptRegions,
        writes,
      };
      const [committed] = await session.request([commit]);
      if (committed?.type !== 'committed') throw new Error('the bare server answered a commit with something else');
    });
  } finally {
    for (const { socket } of sessions) socket.terminate();
  }
});

const documentOf = (entry: ValuesFrame['values'][number] | undefined): unknown =>
  entry === null || entry === undefined ? undefined : JSON.parse(String(entry[1]));
