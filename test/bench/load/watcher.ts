/** A watcher of live queries: a bare socket with the frames of the SDK, so that it costs little beside the node. */
import { setTimeout as delay } from 'node:timers/promises';
import { SESSION_SUBPROTOCOLS } from '@isochron/wire/session-frames';
import { WebSocket } from 'ws';

/** How many sockets watch the same key, for each watch of a socket. */
export const AUDIENCES = [1, 1, 10, 100, 1000] as const;
export type Audience = (typeof AUDIENCES)[number];

const WAIT_MS = 60_000;
const KEYSPACE = 'default/';

/** The key with a number among those of watch `n`. */
export const watchedKey = (n: number, number: number): string => `watched/${n}/${number}`;

type Contents = readonly (readonly [ts: number, tx: string, content: unknown])[];

interface LiveAnswer {
  readonly type: string;
  readonly id: number;
  readonly ust: number;
  readonly to: number;
  readonly changes: readonly (readonly [key: string, contents: Contents])[];
  readonly code?: string;
  readonly detail?: string;
}

/** The answer to a read of its keys. */
interface ValuesAnswer {
  readonly type: 'values';
  readonly snapshot: number;
  readonly values: readonly (readonly [ts: number, content: string] | null)[];
}

/** Receives what arrives at all watchers. */
export interface Arrivals {
  message(bytes: number): void;
  /** A document, without its keyspace in the key. @throws Error for a wrong one */
  document(key: string, ts: number, value: unknown): void;
}

export class Watcher {
  #position = 0;
  #id = 0;
  #waits = false;
  #isStalled = false;
  /** The newest version of each watched key that has arrived. */
  readonly #newest = new Map<string, number>();
  failure: Error | undefined;

  private constructor(
    readonly socket: WebSocket,
    readonly number: number,
    readonly arrivals: Arrivals,
  ) {
    socket.on('message', (data: Buffer) => this.#message(data));
    socket.on('close', (code) => this.#fail(`the socket ${number} was closed with ${code}`));
    socket.on('error', ({ message }) => this.#fail(`the socket ${number} failed: ${message}`));
  }

  static async open(url: string, number: number, arrivals: Arrivals): Promise<Watcher> {
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/session`, SESSION_SUBPROTOCOLS.json, {
      perMessageDeflate: false,
    });
    await new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject));
    const watcher = new Watcher(socket, number, arrivals);
    socket.send(JSON.stringify({ type: 'hello' }));
    while (watcher.#position === 0 && watcher.failure === undefined) await delay(1);
    if (watcher.failure !== undefined) throw watcher.failure;
    return watcher;
  }

  /** Adds its watches, each of one key. */
  watch(): void {
    this.#send({ add: this.#keys().map((key, n) => ({ watch: n + 1, keys: [key] })) });
  }

  /** While it is stalled, it sends no further request. */
  stall(isStalled: boolean): void {
    this.#isStalled = isStalled;
    if (!isStalled && !this.#waits) this.#send({});
  }

  #send(scopes: object): void {
    this.#waits = true;
    this.socket.send(
      JSON.stringify({ type: 'live', id: ++this.#id, after: this.#position, waitMs: WAIT_MS, ...scopes }),
    );
  }

  #message(data: Buffer): void {
    this.arrivals.message(data.length);
    const message = JSON.parse(data.toString('utf8')) as LiveAnswer | LiveAnswer[];
    try {
      for (const frame of Array.isArray(message) ? message : [message]) this.#frame(frame);
    } catch (error) {
      this.failure ??= error as Error;
    }
  }

  #keys(): string[] {
    return AUDIENCES.map((audience, n) => KEYSPACE + watchedKey(n, Math.floor(this.number / audience)));
  }

  #frame(frame: LiveAnswer | ValuesAnswer): void {
    if (frame.type === 'values') this.#read(frame as ValuesAnswer);
    else this.#live(frame as LiveAnswer);
  }

  #live(frame: LiveAnswer): void {
    if (frame.type === 'welcome') this.#position = frame.ust;
    else if (frame.type === 'error' && frame.code === 'CHANGES_GONE') this.#readAnew();
    else if (frame.type === 'error') this.#fail(`the node refuses: ${frame.detail}`);
    else if (frame.type === 'live') this.#answer(frame);
  }

  #answer({ to, changes }: LiveAnswer): void {
    for (const [key, contents] of changes) {
      const [ts, , content] = contents.at(-1)!;
      this.#arrived(key, ts, content as string);
    }
    this.#goOn(to);
  }

  /** It was too far behind. */
  #readAnew(): void {
    this.socket.send(JSON.stringify({ type: 'read', id: ++this.#id, keys: this.#keys() }));
  }

  #read({ snapshot, values }: ValuesAnswer): void {
    for (const [i, key] of this.#keys().entries()) {
      const value = values[i];
      if (value != null) this.#arrived(key, ...value);
    }
    this.#goOn(snapshot);
  }

  /** Counts a version once: a read may have one that has arrived before. */
  #arrived(key: string, ts: number, content: string): void {
    if (ts <= (this.#newest.get(key) ?? 0)) return;
    this.#newest.set(key, ts);
    this.arrivals.document(key.slice(KEYSPACE.length), ts, JSON.parse(content));
  }

  #goOn(position: number): void {
    this.#position = position;
    this.#waits = false;
    if (!this.#isStalled) this.#send({});
  }

  #fail(why: string): void {
    this.failure ??= new Error(why);
  }
}
