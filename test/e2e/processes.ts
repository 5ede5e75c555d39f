/** Processes of tests: their output is kept, and none of them outlives the tests. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { TIER } from '../tier.js';
import { within } from './until.js';

/** The root of the repository, seen from the source and from the compiled file. */
export const ROOT = fileURLToPath(
  new URL(/\/test\/dist\/e2e\/[^/]*$/.test(import.meta.url) ? '../../..' : '../..', import.meta.url),
);
/** The command line as users run it. */
export const BUILT_ISOCHRON = `${ROOT}/server/dist/cli/main.js`;
/** The command line of most tests: outside the tier `all`, the bundle, which starts in half the CPU time. */
export const ISOCHRON = TIER === 'all' ? BUILT_ISOCHRON : `${ROOT}/test/dist/isochron/main.js`;

const MAX_OUTPUT = 4 * 2 ** 20;
const MAX_SHOWN = 8_000;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface SpawnOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** The contents of stdin; default empty. */
  readonly stdin?: string;
  /**
   * Whether the process gets a channel to this one. A node with a channel closes when the channel does, so that none
   * remains even when the tests are killed.
   */
  readonly channel?: boolean;
}

/** Environment variables that would change the behaviour under test. */
const ours = /^(ISOCHRON_|NODE_OPTIONS$|FORCE_COLOR$|NO_COLOR$)/;

/** The environment of a process under test. */
export const cleanEnv = (env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name))),
  NO_COLOR: '1',
  ...env,
});

const alive = new Set<Child>();

/** Ends all running processes at once: for `afterAll`. */
export async function killAll(): Promise<void> {
  await Promise.all([...alive].map((child) => child.kill('SIGKILL')));
}

/** One process. */
export class Child {
  stdout = '';
  stderr = '';
  /** How it ended. */
  readonly exited: Promise<Exit>;
  #exit: Exit | undefined;
  readonly #process: ChildProcess;

  constructor(command: string, args: readonly string[], options: SpawnOptions = {}) {
    const { cwd = ROOT, env, stdin, channel = false } = options;
    const stdio = ['pipe', 'pipe', 'pipe', ...(channel ? ['ipc' as const] : [])] as const;
    this.#process = spawn(command, args, { cwd, env: cleanEnv(env), stdio: [...stdio] });
    alive.add(this);
    this.#process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout = tail(this.stdout + text);
    });
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr = tail(this.stderr + text);
    });
    // The process may end without having read its input.
    this.#process.stdin?.on('error', () => undefined);
    this.#process.stdin?.end(stdin ?? '');
    this.exited = this.#ended();
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** How it ended; undefined while it runs. */
  get exit(): Exit | undefined {
    return this.#exit;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Sends a message over the channel, unless the process has ended or is ending. */
  send(message: object): void {
    if (this.#process.connected) this.#process.send(message, () => undefined);
  }

  /** Sends a signal and waits for the end. */
  async kill(signal: NodeJS.Signals, timeoutMs = 20_000): Promise<Exit> {
    if (this.#exit === undefined) this.#process.kill(signal);
    return within(`the end of process ${this.pid} after ${signal}`, timeoutMs, this.exited, () => this.output);
  }

  /** The last of what it has written so far. */
  get output(): string {
    return `${this.stdout}${this.stderr}`.slice(-MAX_SHOWN);
  }

  async #ended(): Promise<Exit> {
    try {
      const [code, signal] = await once(this.#process, 'close');
      this.#exit = { code, signal };
    } catch (error) {
      this.stderr += String(error);
      this.#exit = { code: null, signal: null };
    }
    alive.delete(this);
    return this.#exit;
  }
}

const tail = (text: string): string => (text.length > MAX_OUTPUT ? text.slice(-MAX_OUTPUT / 2) : text);

/** The output and the exit code of a command. */
export interface Result extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. After a limit, it is killed, and the error has its output so far. */
export async function run(
  command: string,
  args: readonly string[],
  { timeoutMs = 60_000, ...options }: SpawnOptions & { readonly timeoutMs?: number } = {},
): Promise<Result> {
  const child = new Child(command, args, options);
  try {
    const exit = await within(`${command} ${args.join(' ')}`, timeoutMs, child.exited, () => child.output);
    return { ...exit, stdout: child.stdout, stderr: child.stderr };
  } finally {
    await child.kill('SIGKILL');
  }
}

/** Runs the `isochron` command to its end. */
export const isochron = (
  args: readonly string[],
  options: SpawnOptions & { readonly timeoutMs?: number } = {},
): Promise<Result> => run(process.execPath, [ISOCHRON, ...args], options);
