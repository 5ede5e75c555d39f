/** Starts nodes as processes of their own, keeps them running and stops them. */
import { setTimeout as delay } from 'node:timers/promises';
import { ReportedFailure } from '../failures.js';
import { duration } from '../output.js';
import { ChildNode, type SupervisedNode } from './child.js';

const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 10_000;
/** A node that ran longer than this is restarted after the shortest pause, ms. */
const STEADY_MS = 30_000;
/** How long a node may take to close before it is ended, ms: a little longer than its own limit. */
const STOP_TIMEOUT_MS = 22_000;
/** The reason of a node that closed in order. */
const CLOSED = 'exit code 0';

/** What the supervisor asks, and reports. */
export interface SupervisorEvents<N extends SupervisedNode> {
  /** Resolves once a node that was started serves; rejects when the signal is aborted. */
  untilReady(node: N, signal: AbortSignal): Promise<void>;
  /** A node serves. @param afterMs time since its start */
  ready(node: N, afterMs: number): void;
  /** One line about a fault or a recovery. */
  remark(line: string): void;
}

/** The pause before the `attempt`-th restart in a row, counted from 0, in ms. */
export const backoffMs = (attempt: number): number => Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** attempt);

export class Supervisor<N extends SupervisedNode> {
  readonly #children: readonly ChildNode<N>[];
  readonly #stopping = new AbortController();
  readonly #ended: Promise<unknown>;
  readonly #started: Promise<unknown>;
  /** How each node ended last. */
  readonly #ends = new Map<string, string>();

  /** Starts every node at once. @param argsOf the arguments of a node's process */
  constructor(
    nodes: readonly N[],
    argsOf: (node: N) => string[],
    readonly events: SupervisorEvents<N>,
  ) {
    this.#children = nodes.map((node) => new ChildNode(node, argsOf(node)));
    const first = this.#children.map((child) => this.#start(child));
    this.#started = Promise.all(first.map(({ ready }) => ready));
    this.#ended = Promise.all(first.map(({ ended }) => ended));
  }

  /** Resolves when every node serves. @throws ReportedFailure when one ends before; all have been stopped then */
  async started(): Promise<void> {
    try {
      await this.#started;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Resolves when every node has ended for good. */
  async ended(): Promise<void> {
    await this.#ended;
  }

  /** Nodes whose last process did not close in order, with the reason. */
  get unclean(): string[] {
    return [...this.#ends].flatMap(([id, reason]) => (reason === CLOSED ? [] : [`${id} (${reason})`]));
  }

  /** Closes all nodes in order; ends those that take too long. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const child of this.#children) child.stop();
    const timer = setTimeout(() => {
      this.events.remark('Some nodes do not close in time and are ended.');
      this.signal('SIGKILL');
    }, STOP_TIMEOUT_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  /** Sends a signal to all nodes. */
  signal(signal: NodeJS.Signals): void {
    for (const child of this.#children) child.signal(signal);
  }

  /** The first start of a node, and the time until it ends for good. */
  #start(child: ChildNode<N>): { ready: Promise<void>; ended: Promise<void> } {
    const run = this.#runOnce(child);
    const failed = run.ended.then((reason) => {
      throw new ReportedFailure(startFailure(child.node, reason));
    });
    const ready = Promise.race([run.ready, failed]);
    const keep = async (): Promise<void> => {
      const reason = await run.ended;
      if (await isFulfilled(ready)) await this.#keepRunning(child, reason);
    };
    return { ready, ended: keep() };
  }

  /** Restarts a node that served once, until all are stopped. */
  async #keepRunning(child: ChildNode<N>, firstReason: string): Promise<void> {
    let reason = firstReason;
    for (let attempt = 0; !this.#isStopping(); attempt++) {
      const pauseMs = backoffMs(attempt);
      const { id, logFile } = child.node;
      const where = logFile === undefined ? '' : ` Its log: ${logFile}`;
      this.events.remark(`${id} ended (${reason}); it starts again in ${duration(pauseMs)}.${where}`);
      if (!(await this.#pause(pauseMs))) return;
      const startedAt = performance.now();
      const run = this.#runOnce(child);
      reason = await run.ended;
      if (performance.now() - startedAt > STEADY_MS) attempt = -1;
    }
  }

  #runOnce(child: ChildNode<N>): { ready: Promise<void>; ended: Promise<string> } {
    const startedAt = performance.now();
    const over = new AbortController();
    const ended = child.run().then((reason) => {
      this.#ends.set(child.node.id, reason);
      over.abort();
      return reason;
    });
    this.#stopping.signal.addEventListener('abort', () => over.abort(), { signal: over.signal });
    const ready = this.events
      .untilReady(child.node, over.signal)
      .then(() => this.events.ready(child.node, performance.now() - startedAt));
    // It never became ready because it ended or is being stopped: `ended` reports that.
    const orNever = ready.catch(() => new Promise<void>(() => {}));
    return { ready: orNever, ended };
  }

  #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Whether the pause was not interrupted. */
  #pause(ms: number): Promise<boolean> {
    return delay(ms, true, { signal: this.#stopping.signal }).catch(() => false);
  }
}

const isFulfilled = (promise: Promise<unknown>): Promise<boolean> =>
  promise.then(
    () => true,
    () => false,
  );

function startFailure(node: SupervisedNode, reason: string): string {
  const advice = /^(PLACEMENT_MISMATCH|STORAGE_FORMAT):/.test(reason) ? ' Use another --data, or delete this one.' : '';
  const line = /^[A-Z_]+: /.test(reason)
    ? reason
    : `NODE_ENDED: ended with ${reason}; its log is ${node.logFile ?? 'above'}`;
  return `${line.replace(/([^.!?])$/, '$1.')}${advice} (node ${node.id})`;
}
