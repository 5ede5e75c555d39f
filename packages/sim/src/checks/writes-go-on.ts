import type { KeyWrite, NodeId, TxId } from '@isochron/core';
import type { FaultPlan, Plan } from '../plan/plan.js';
import { slowestMs } from '../run/probe.js';
import type { Check, CheckContext } from './check.js';

/** Faults of one node that keep it from answering. */
const ONE_NODE: ReadonlySet<string> = new Set(['pause', 'freeze', 'crash', 'isolateNode']);
/** After this time a fault is known to every node, and to its clients. */
const DETECTED_MS = 2_000;
const PROMPT_MS = 1_500;

/**
 * While one node does not answer and nothing else is wrong, a commit that is sent to another node after the fault was detected ends without that
 * node, as long as each of its partitions has a replica in another region. A bound of liveness: generous in comparison with delays and disks, and far
 * below the time for which a coordinator waits for a cohort.
 */
export class WritesGoOn implements Check {
  readonly name = 'writes-go-on';
  readonly #active: FaultPlan[] = [];
  /** The one node that does not answer, while nothing else is wrong, and since when that is so. */
  #silent: { readonly node: NodeId; readonly sinceMs: number } | undefined;
  readonly #waiting = new Map<TxId, { readonly sentMs: number; readonly node: NodeId }>();
  /** Nodes that have started again: they may have to wait for the word of the silent one. */
  readonly #restarted = new Set<NodeId>();
  #robbed = false;
  readonly #detectedMs: number;
  readonly #promptMs: number;

  constructor(
    readonly context: CheckContext,
    readonly plan: Plan,
  ) {
    const { environment } = plan;
    const [, reconnectMs] = environment.reconnectMs;
    const delayMs = slowestMs(plan) + environment.clientMs;
    this.#detectedMs = DETECTED_MS + environment.noticeMs + reconnectMs + 4 * delayMs;
    this.#promptMs = PROMPT_MS + 12 * delayMs + 12 * Math.max(...environment.syncMs);
  }

  fault(fault: FaultPlan, begins: boolean): void {
    this.round();
    this.#waiting.clear();
    if (begins) this.#active.push(fault);
    else this.#active.splice(this.#active.indexOf(fault), 1);
    const [only, another] = this.#active;
    const counts = only !== undefined && another === undefined && ONE_NODE.has(only.kind);
    this.#silent = counts ? { node: String(only.node), sinceMs: this.context.time.now } : undefined;
  }

  started(node: NodeId): void {
    if (this.context.time.now > 0) this.#restarted.add(node);
  }

  robbed(): void {
    this.#robbed = true;
  }

  sent(txId: TxId, node: NodeId, writes: readonly KeyWrite[]): void {
    const silent = this.#silent;
    const { time, topology } = this.context;
    if (silent === undefined || silent.node === node || time.now < silent.sinceMs + this.#detectedMs) return;
    if (this.#robbed || !this.plan.environment.founded) return;
    if ([...this.#restarted].some((restarted) => restarted !== silent.node)) return;
    const region = topology.regionOf(silent.node);
    const elsewhere = writes.every(({ key }) =>
      topology.partitions[topology.partitionOf(key)]!.regions.some((other) => other !== region),
    );
    if (elsewhere) this.#waiting.set(txId, { sentMs: time.now, node });
  }

  settled(txId: TxId): void {
    this.#waiting.delete(txId);
  }

  round(): void {
    const { time, fail } = this.context;
    for (const [txId, { sentMs, node }] of this.#waiting) {
      const waitedMs = time.now - sentMs;
      if (waitedMs <= this.#promptMs || this.#silent === undefined) continue;
      this.#waiting.delete(txId);
      const since = Math.round(sentMs - this.#silent.sinceMs);
      const message = `${txId} waits on ${node} for ${Math.round(waitedMs)} ms; it was sent ${since} ms after ${this.#silent.node} fell silent`;
      fail(this.name, message, [txId, this.#silent.node]);
    }
  }
}
