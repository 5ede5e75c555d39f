/** Nodes that a command asks at the addresses of the test's cluster file, and what the command prints. */
import { runCli } from '../src/cli/program.js';
import type { request } from '../src/cli/status/request.js';
import { startApi, type TestApi } from './test-api.js';
import { TestCluster } from './test-cluster.js';

export class CliNodes {
  readonly #cluster = new TestCluster();
  readonly #nodes = new Map<string, TestApi>();

  /** @param actual the function that a test's mock stands for */
  constructor(readonly actual: typeof request) {}

  /** Sends a request for the address of a node of the cluster file to the node in its place. */
  readonly request: typeof request = (url, options) => {
    const { origin, href } = new URL(url);
    const api = this.#nodes.get(origin);
    return api === undefined
      ? Promise.reject(new Error('refused'))
      : this.actual(href.replace(origin, api.url), options);
  };

  /** A node answers at a port of the cluster file. */
  async add(id: string, port: number): Promise<void> {
    this.#nodes.set(addressOf(port), await startApi({ cluster: this.#cluster, id }));
  }

  node(port: number): TestApi['node'] {
    return this.#nodes.get(addressOf(port))!.node;
  }

  /** The node of a port answers at another port, too. */
  answerAlsoAt(other: number, port: number): void {
    this.#nodes.set(addressOf(other), this.#nodes.get(addressOf(port))!);
  }

  async close(): Promise<void> {
    for (const api of new Set(this.#nodes.values())) await api.close();
  }
}

const addressOf = (port: number): string => `http://127.0.0.1:${port}`;

/** Runs a command, and returns what it has written. */
export async function ran(...args: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const stdout = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const stderr = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  const written = (spy: typeof stdout): string => spy.mock.calls.map(([text]) => String(text)).join('');
  try {
    const exitCode = await runCli(args);
    return { exitCode, stdout: written(stdout), stderr: written(stderr) };
  } finally {
    stdout.mockRestore();
    stderr.mockRestore();
  }
}
