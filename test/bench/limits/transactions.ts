/**
 * The bare limit of a transaction: a server that does only the work of a transaction. It answers a read from memory,
 * makes a commit durable with those of others in one synced write, sends it to one other server, which makes it
 * durable, too, and uses the frames of the real protocol. It keeps no versions, orders no commits, and has no recovery.
 */
import { once } from 'node:events';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommitFrame, ReadFrame, StartFrame } from '@isochron/wire/session-frames';
import { type RawData, WebSocket, WebSocketServer } from 'ws';
import { answerJobs } from '../jobs.js';
import { loadCluster, plain } from '../load/loaded-cluster.js';
import { type ValueRule, valueFor } from '../load/values.js';
import { GroupCommit } from './group-commit.js';

/** `serve`: returns the port. `follow`: from now on sends its commits to another server. */
export type BareTransactionJob =
  | {
      readonly kind: 'serve';
      /** Of the cluster whose keys it holds, all of them. */
      readonly configFile: string;
      readonly keysPerPartition: number;
      readonly values: ValueRule;
      /** Folder of its file. */
      readonly folder: string;
    }
  | { readonly kind: 'follow'; readonly url: string };

type Frame = StartFrame | ReadFrame | CommitFrame | { readonly type: 'copy'; readonly writes: CommitFrame['writes'] };

class BareServer {
  readonly #values = new Map<string, readonly [number, string]>();
  readonly #group: GroupCommit<string>;
  #peer: WebSocket | undefined;
  #ts = 1;

  constructor(file: FileHandle) {
    let offset = 0;
    this.#group = new GroupCommit(async (records) => {
      const bytes = Buffer.from(records.join('\n'));
      await file.write(bytes, 0, bytes.length, offset);
      offset += bytes.length;
      await file.datasync();
    });
  }

  put(key: string, value: string): void {
    this.#values.set(key, [this.#ts++, value]);
  }

  async follow(url: string): Promise<void> {
    this.#peer = new WebSocket(url, { perMessageDeflate: false });
    await once(this.#peer, 'open');
  }

  /** A WebSocket message: one frame or an array of frames. */
  received(socket: WebSocket, data: RawData): void {
    const message = JSON.parse(String(data)) as Frame | readonly Frame[];
    const answers: object[] = [];
    for (const frame of Array.isArray(message) ? message : [message]) {
      const answer = this.#handle(socket, frame as Frame);
      if (answer !== undefined) answers.push(answer);
    }
    if (answers.length > 0) socket.send(JSON.stringify(answers));
  }

  #handle(socket: WebSocket, frame: Frame): object | undefined {
    if (frame.type === 'start') return { type: 'started', id: frame.id, snapshot: this.#ts };
    if (frame.type === 'read') {
      const values = frame.keys.map((key) => this.#values.get(key) ?? null);
      return { type: 'values', id: frame.id, snapshot: this.#ts, values };
    }
    for (const { key, value } of frame.writes) this.put(key, String(value));
    const durable = this.#group.put(JSON.stringify(frame.writes));
    if (frame.type === 'copy') return undefined;
    const ts = this.#ts;
    durable.then(() => socket.send(JSON.stringify({ type: 'committed', id: frame.id, ts })));
    this.#peer?.send(JSON.stringify({ type: 'copy', writes: frame.writes }));
    return undefined;
  }
}

let server: BareServer | undefined;

answerJobs<BareTransactionJob, number>(async (job) => {
  if (job.kind === 'follow') {
    await server?.follow(job.url);
    return 0;
  }
  await mkdir(job.folder, { recursive: true });
  const bare = new BareServer(await open(join(job.folder, 'commits'), 'w'));
  server = bare;
  const table = loadCluster(job.configFile).table(job.keysPerPartition);
  for (const key of table.allKeys()) bare.put(key, JSON.stringify(valueFor(job.values, plain(key), 0)));
  const listener = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
  listener.on('connection', (socket) => socket.on('message', (data) => bare.received(socket, data)));
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
});
