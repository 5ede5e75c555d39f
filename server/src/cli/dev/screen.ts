/** The output of `isochron dev`: progress while nodes start, then their addresses and commands to try. */
import Table from 'cli-table3';
import colors from 'picocolors';
import type { ClusterConfig } from '../../config/cluster-file.js';
import { duration, isInteractive } from '../output.js';
import type { DevOptions, PlannedNode } from './plan.js';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_INTERVAL_MS = 100;
const DEFAULT_APIS = [7101, 7102, 7103].map((port) => `http://127.0.0.1:${port}`);

/** On stderr: a line for each node that is ready and, in a terminal, a moving line for the others. */
export class StartProgress {
  readonly #waiting: Set<string>;
  readonly #live = isInteractive();
  readonly #startedAt = performance.now();
  readonly #timer: NodeJS.Timeout | undefined;
  #frame = 0;

  constructor(nodes: readonly PlannedNode[]) {
    this.#waiting = new Set(nodes.map(({ id }) => id));
    if (this.#live) this.#timer = setInterval(() => this.#draw(), FRAME_INTERVAL_MS);
    if (this.#live) this.#draw();
    else process.stderr.write(`Starting ${[...this.#waiting].join(', ')} ...\n`);
  }

  ready(node: PlannedNode, afterMs: number): void {
    this.#waiting.delete(node.id);
    this.line(`${colors.green('✓')} ${node.id} is ready (${duration(afterMs)})`);
  }

  /** Writes a line above the moving one. */
  line(text: string): void {
    process.stderr.write(`${this.#live ? '\r\x1b[K' : ''}${text}\n`);
    if (this.#live) this.#draw();
  }

  /** Ends the moving line. */
  end(): void {
    clearInterval(this.#timer);
    this.#waiting.clear();
    if (this.#live) process.stderr.write('\r\x1b[K');
  }

  #draw(): void {
    if (this.#waiting.size === 0) return;
    const frame = FRAMES[this.#frame++ % FRAMES.length];
    const elapsed = duration(performance.now() - this.#startedAt);
    process.stderr.write(`\r\x1b[K${frame} Starting ${[...this.#waiting].join(', ')} ${elapsed}`);
  }
}

/** The table of a cluster's nodes with their addresses. */
export function endpointTable(nodes: readonly PlannedNode[]): string {
  const table = new Table({
    head: ['region', 'node', 'API', 'documentation', 'metrics'],
    style: { head: [], border: [] },
  });
  for (const { region, id, api, metrics } of nodes) table.push([region, id, api, `${api}/docs`, metrics]);
  return table.toString();
}

/** Three shell commands that show features of the cluster. */
export function commandsToTry(nodes: readonly PlannedNode[]): string[] {
  const first = nodes[0]!;
  const other = nodes.find(({ region }) => region !== first.region) ?? first;
  const path = '/v1/keyspaces/default/keys/hello';
  const [accept, ca, env] = first.tls.api
    ? [` --cacert ${first.ca}`, ` --ca ${first.ca}`, `NODE_EXTRA_CA_CERTS=${first.ca} `]
    : ['', '', ''];
  const put = `curl -sX PUT${accept} ${first.api}${path} -H 'content-type: application/json' -d '{"from":"${first.region}"}'`;
  // The defaults of these commands fit the default ports and three regions.
  const isDefault = nodes.map(({ api }) => api).join() === DEFAULT_APIS.join();
  const one = isDefault ? '' : ` --endpoint ${first.api}`;
  const all = isDefault ? '' : ` --endpoint ${nodes.map(({ api }) => api).join(',')}`;
  return [
    `${put} && sleep 1 && curl -s${accept} ${other.api}${path}`,
    `npm run -s isochron -- status${one}${ca}`,
    `${env}node examples/cities/dist/main.js${all}`,
  ];
}

/** All that a newcomer needs once the cluster runs. */
export function welcome(config: ClusterConfig, nodes: readonly PlannedNode[], options: DevOptions): string {
  const partitions = config.keyspaces.reduce((sum, keyspace) => sum + keyspace.partitions, 0);
  const delays = Object.keys(config.wan.oneWayMs).length > 0 ? ', with delays between regions' : '';
  const what = `${config.regions.length} regions, ${nodes.length} nodes, ${partitions} partitions, protocol ${config.protocol}${delays}`;
  return [
    `${colors.bold('Isochron is running')}: ${what}.`,
    endpointTable(nodes),
    'Try in another terminal:',
    ...commandsToTry(nodes).map((command) => `  ${colors.cyan(command)}`),
    ...(nodes[0]!.tls.api ? [certificatesOf(nodes[0]!)] : []),
    `Data and logs: ${options.data}. Ctrl-C stops the cluster.`,
  ].join('\n');
}

const certificatesOf = ({ ca }: PlannedNode): string =>
  `Clients accept the certificates with ${ca}: the option "ca" of the SDK, --ca or ISOCHRON_CA of isochron, --cacert of curl.`;

/** The same for programs, as JSON. */
export function welcomeJson(config: ClusterConfig, nodes: readonly PlannedNode[], options: DevOptions): string {
  const endpoints = nodes.map(({ id, region, api, metrics }) => ({
    node: id,
    region,
    api,
    docs: `${api}/docs`,
    metrics,
  }));
  const ca = nodes[0]!.tls.api ? { ca: nodes[0]!.ca } : {};
  const { cluster, protocol } = config;
  return JSON.stringify({ cluster, protocol, data: options.data, ...ca, nodes: endpoints });
}
