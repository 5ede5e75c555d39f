/**
 * The Swift SDK in a process of its own, driven by lines of JSON: `sdk-swift/Tests/Driver` is the other side. It has
 * the methods of the TypeScript client that the workload of the tests uses.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { IsochronError, isErrorCode } from '@isochron/core';
import { cleanEnv, type Result, ROOT, run } from './processes.js';
import { within } from './until.js';
import type { WorkloadClient, WorkloadSnapshot, WorkloadTransaction } from './workload.js';

const PACKAGE = join(ROOT, 'sdk-swift');
const ENSURE = join(ROOT, 'infra/swift/ensure-swift.sh');
const FETCH_TIMEOUT_MS = 600_000;
/** A driver that has not ended after this time hangs. */
const END_LIMIT_MS = 20_000;

/** How the driver was compiled. */
export type Configuration = 'debug' | 'release';

/** One-shot reads of one key each, as many at a time. */
export interface ReadLoad {
  readonly inFlight: number;
  readonly durationMs: number;
}

interface Reply {
  readonly id: number;
  readonly operations?: number;
  readonly elapsedMs?: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  readonly values?: readonly (string | null)[];
  readonly session?: string;
  readonly region?: string;
  readonly residentBytes?: number;
  readonly failure?: { readonly code: string; readonly message: string };
}

type Command = Readonly<Record<string, unknown>> & { readonly does: string; readonly of: string };

const swiftEnv = (): NodeJS.ProcessEnv => cleanEnv({ SWIFT_BIND: ROOT, SWIFT_PACKAGE_DIR: PACKAGE });

/** Runs the swift command in the package. */
export const swift = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Result> =>
  run('sh', [ENSURE, ...args], { env: { ...swiftEnv(), ...env }, timeoutMs: FETCH_TIMEOUT_MS });

/**
 * Builds the driver, and fetches the toolchain if it is missing.
 * @returns why that is not possible on this machine; undefined when the driver is built
 */
export async function prepareSwift(configuration: Configuration = 'debug'): Promise<string | undefined> {
  const setup = await swift(['--setup']);
  if (setup.code !== 0) return setup.stderr.trim().split('\n').at(-1) ?? 'there is no Swift';
  const built = await swift(['build', '-c', configuration, '--product', 'isochron-driver']);
  if (built.code !== 0) throw new Error(`the driver does not compile:\n${built.stdout}\n${built.stderr}`);
  return undefined;
}

export interface HowToConnect {
  /** An exported session to continue. */
  readonly session?: string;
  /** File that keeps the session when the process ends. */
  readonly store?: string;
  /** The accepted certificate authorities, in PEM. */
  readonly ca?: string;
  /** File with the newest credentials: the client reads it whenever it asks for them. */
  readonly auth?: string;
}

/** One process with several clients. */
export class SwiftDriver {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting = new Map<number, { resolve(reply: Reply): void; reject(error: Error): void }>();
  #lastId = 0;
  #names = 0;

  constructor(configuration: Configuration = 'debug') {
    const command = [ENSURE, '--exec', `.build/${configuration}/isochron-driver`];
    this.#process = spawn('sh', command, { env: swiftEnv(), stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.#process.stdout }).on('line', (line) => this.#onReply(JSON.parse(line) as Reply));
    this.#process.stdin.on('error', () => undefined);
    this.#process.on('exit', (code, signal) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`the driver ended: ${signal ?? code}`));
      this.#waiting.clear();
    });
  }

  /** Connects a client of its own. */
  async connect(endpoints: readonly string[], how: HowToConnect = {}): Promise<SwiftClient> {
    const of = this.name('client');
    await this.request({ does: 'connect', of, endpoints, ...how });
    return new SwiftClient(this, of);
  }

  /** A name that no other object has. */
  name(what: string): string {
    return `${what}-${++this.#names}`;
  }

  /** Rejects with the client's error: an IsochronError where it was one. */
  request(command: Command): Promise<Reply> {
    const id = ++this.#lastId;
    this.#process.stdin.write(`${JSON.stringify({ id, ...command })}\n`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** kill -9, like the end of an app by the system. */
  kill(): void {
    this.#process.kill('SIGKILL');
  }

  async end(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.stdin.end();
    try {
      await within('the end of the Swift driver', END_LIMIT_MS, ended);
    } catch (error) {
      this.kill();
      throw error;
    }
  }

  #onReply({ failure, ...reply }: Reply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (failure === undefined) waiting?.resolve(reply);
    else if (isErrorCode(failure.code)) waiting?.reject(new IsochronError(failure.code, failure.message));
    else waiting?.reject(new Error(`${failure.code}: ${failure.message}`));
  }
}

const documents = ({ values }: Reply): (string | undefined)[] => values!.map((value) => value ?? undefined);

/** A client of the Swift SDK. */
export class SwiftClient implements WorkloadClient {
  readonly session = {
    export: async (): Promise<unknown> => JSON.parse((await this.#send('export')).session!),
  };

  constructor(
    readonly driver: SwiftDriver,
    readonly name: string,
  ) {}

  async getMany(keys: readonly string[]): Promise<(string | undefined)[]> {
    return documents(await this.#send('getMany', { keys }));
  }

  set(key: string, value: string): Promise<unknown> {
    return this.#send('set', { key, value });
  }

  delete(key: string): Promise<unknown> {
    return this.#send('delete', { key });
  }

  async snapshot(): Promise<WorkloadSnapshot> {
    const of = this.driver.name('snapshot');
    await this.driver.request({ does: 'snapshot', of, client: this.name });
    return {
      getMany: async (keys) => documents(await this.driver.request({ does: 'snapshotGetMany', of, keys })),
      close: async () => void (await this.driver.request({ does: 'snapshotClose', of })),
    };
  }

  async transaction(body: (tx: WorkloadTransaction) => Promise<void>): Promise<unknown> {
    const of = this.driver.name('transaction');
    await this.driver.request({ does: 'begin', of, client: this.name });
    try {
      await body({
        getMany: async (keys) => documents(await this.driver.request({ does: 'txGetMany', of, keys })),
        // If it fails, the following commits fail, too.
        set: (key, value) => void this.driver.request({ does: 'txSet', of, key, value }).catch(() => undefined),
      });
    } catch (error) {
      await this.driver.request({ does: 'rollback', of });
      throw error;
    }
    return this.driver.request({ does: 'commit', of });
  }

  /** The values of a key that a live query, or the change feed, has given so far; rejects once it has ended. */
  async follow(key: string, by: 'watch' | 'follow'): Promise<() => Promise<readonly (string | undefined)[]>> {
    const of = this.driver.name(by);
    await this.driver.request({ does: by, of, client: this.name, key });
    return async () => documents(await this.driver.request({ does: 'followed', of }));
  }

  /** Commits one after the other. Resolves with the memory of the process afterwards, in bytes. */
  async sequential(count: number): Promise<number> {
    return (await this.#send('sequential', { count })).residentBytes!;
  }

  /** The keys that {@link readLoad} reads. */
  async readsOf(keys: readonly string[]): Promise<void> {
    await this.#send('readsOf', { keys });
  }

  /** @throws Error where a key has no value */
  async readLoad(
    load: ReadLoad,
  ): Promise<{ operations: number; elapsedMs: number; latency: { p50Ms: number; p99Ms: number } }> {
    const { operations, elapsedMs, p50Ms, p99Ms } = await this.#send('readLoad', { ...load });
    return { operations: operations!, elapsedMs: elapsedMs!, latency: { p50Ms: p50Ms!, p99Ms: p99Ms! } };
  }

  async close(): Promise<void> {
    await this.#send('close');
  }

  #send(does: string, more: Readonly<Record<string, unknown>> = {}): Promise<Reply> {
    return this.driver.request({ does, of: this.name, ...more });
  }
}
