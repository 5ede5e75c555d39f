import type { KeyWrite, NodeId, RegionId, TxId } from '@isochron/core';
import { DEFAULT_SETTINGS } from '@isochron/protocols';
import type { FaultPlan, Plan } from '../../plan/plan.js';
import { slowestMs } from '../../run/probe.js';
import type { Check, CheckContext } from '../check.js';

/** Faults that keep one node, or the nodes of one region, from answering. */
const SILENT: ReadonlySet<string> = new Set(['pause', 'freeze', 'crash', 'isolateNode', 'isolateRegion']);
/** After this time every node, and its clients, have noticed a fault. */
const DETECTED_MS = 2_000;
const PROMPT_MS = 1_500;

/** The nodes that do not answer, all of one region, and since when that is so. */
interface Silent {
  readonly nodes: readonly NodeId[];
  readonly region: RegionId;
  readonly sinceMs: number;
}

/** A commit that has not ended. */
interface OpenCommit {
  readonly session: string;
  readonly writes: readonly KeyWrite[];
  /** Whether the client keeps the connection on which it sent the commit. */
  readonly keepsConnection: boolean;
}

/**
 * While one node, or one region, does not answer and nothing else is wrong, a commit that is sent to another node after
 * the fault was detected ends without that node, as long as each of its partitions has a replica in another region. A
 * bound of liveness: generous in comparison with delays and disks, and far below the time for which a coordinator waits
 * for a cohort. Where nodes give few credits, requests that wait for that node may hold them all, and where they serve
 * few requests in a second, a commit waits for its turn; where replicas have little room for transactions that wait,
 * those that are prepared at that node may fill it (D11). The commits of a session end in their order: one that needs
 * that node holds up the later ones (P8).
 */
export class WritesGoOn implements Check {
  readonly name = 'writes-go-on';
  readonly #active: FaultPlan[] = [];
  /** The nodes that do not answer, while nothing else is wrong, and since when. */
  #silent: Silent | undefined;
  readonly #waiting = new Map<TxId, { readonly sentMs: number; readonly node: NodeId }>();
  readonly #open = new Map<TxId, OpenCommit>();
  /** Restarted nodes: they may have to wait for the report of the silent one. */
  readonly #restarted = new Set<NodeId>();
  #lostData = false;
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
    const counts = only !== undefined && another === undefined && SILENT.has(only.kind);
    this.#silent = counts ? this.#silentBy(only) : undefined;
  }

  #silentBy({ node, region }: FaultPlan): Silent {
    const { topology, time } = this.context;
    const where = region === undefined ? topology.regionOf(String(node)) : String(region);
    const nodes = region === undefined ? [String(node)] : topology.nodesOf(where);
    return { nodes, region: where, sinceMs: time.now };
  }

  started(node: NodeId): void {
    if (this.context.time.now > 0) this.#restarted.add(node);
  }

  onDataLoss(): void {
    this.#lostData = true;
  }

  sent(txId: TxId, node: NodeId | undefined, writes: readonly KeyWrite[], session: string): void {
    this.#open.set(txId, { session, writes, keepsConnection: node !== undefined });
    const own = [...this.#open].filter(([, open]) => open.session === session);
    // The commits of a session share its connection.
    if (own.some(([, { keepsConnection }]) => !keepsConnection)) {
      for (const [other] of own) this.#waiting.delete(other);
      return;
    }
    const silent = this.#silent;
    const { time } = this.context;
    if (silent === undefined || node === undefined || silent.nodes.includes(node)) return;
    if (time.now < silent.sinceMs + this.#detectedMs || this.#lostData) return;
    if (!this.plan.environment.founded || isNarrow(this.plan)) return;
    if ([...this.#restarted].some((restarted) => !silent.nodes.includes(restarted))) return;
    if (own.every(([, { writes: parts }]) => this.#isElsewhere(parts, silent.region)))
      this.#waiting.set(txId, { sentMs: time.now, node });
  }

  /** Whether each partition of the writes has a replica in another region. */
  #isElsewhere(writes: readonly KeyWrite[], region: RegionId): boolean {
    const { topology } = this.context;
    return writes.every(({ key }) =>
      topology.partitions[topology.partitionOf(key)]!.regions.some((other) => other !== region),
    );
  }

  settled(txId: TxId): void {
    this.#waiting.delete(txId);
    this.#open.delete(txId);
  }

  round(): void {
    const { time, fail } = this.context;
    for (const [txId, { sentMs, node }] of this.#waiting) {
      const waitedMs = time.now - sentMs;
      if (waitedMs <= this.#promptMs || this.#silent === undefined) continue;
      this.#waiting.delete(txId);
      const since = Math.round(sentMs - this.#silent.sinceMs);
      const { nodes } = this.#silent;
      const waits = `${txId} waits on ${node} for ${Math.round(waitedMs)} ms`;
      fail(this.name, `${waits}; it was sent ${since} ms after ${nodes.join(', ')} fell silent`, [txId, ...nodes]);
    }
  }
}

/** Whether a few requests that wait for one node can keep others from being served. */
function isNarrow({ environment, settings }: Plan): boolean {
  const { maxPendingBytes = DEFAULT_SETTINGS.maxPendingBytes } = settings;
  const { credits, requestsPerSecond } = environment;
  return (credits ?? requestsPerSecond) !== undefined || maxPendingBytes < DEFAULT_SETTINGS.maxPendingBytes;
}
