/** Carries out a schedule on a cluster. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ChaosCluster } from './cluster.js';
import type { Fault, FaultKind, Step } from './faults.js';
import type { Gate } from './gate.js';
import { writesGoOn } from './writes-go-on.js';

/** Faults that end before the next one begins. */
const ALONE: ReadonlySet<FaultKind> = new Set(['wipe', 'rollback', 'freeze']);
/** Minimum time between the copy of the disk and the kill of a rolled-back node. */
const ROLLED_BACK_MS = 4_000;

export interface NemesisOptions {
  readonly cluster: ChaosCluster;
  /** Holds the sessions back where a fault would destroy data that the product does not promise to keep. */
  readonly gate: Gate;
  /** Resolves when everything that was written is visible everywhere. */
  readonly settled: () => Promise<void>;
  /** Called when a fault begins and when it ends. */
  readonly onEvent: (what: 'begins' | 'ends', fault: Fault) => void;
}

export class Nemesis {
  /** Faults that began, by kind. */
  readonly counts: Partial<Record<FaultKind, number>> = {};
  /** Writes that waited for a frozen node. */
  readonly blocked: string[] = [];
  readonly #options: NemesisOptions;
  readonly #healing = new AbortController();
  readonly #active = new Set<Promise<void>>();
  readonly #now = new Set<Step>();

  constructor(options: NemesisOptions) {
    this.#options = options;
  }

  /** Faults that have begun and not ended. */
  get now(): readonly Fault[] {
    return [...this.#now].map(({ fault }) => fault);
  }

  /** Carries out the schedule; resolves after its time, when faults may still be active. */
  async run(steps: readonly Step[], durationMs: number): Promise<void> {
    // When a fault takes longer than planned because it had to wait, the others are postponed by as much.
    let startMs = performance.now();
    for (const step of steps) {
      await delay(Math.max(0, startMs + step.atMs - performance.now()));
      const done = this.#perform(step);
      this.#active.add(done);
      done.then(
        () => this.#active.delete(done),
        // Errors are reported by `heal`.
        () => undefined,
      );
      if (!ALONE.has(step.fault.kind)) continue;
      const sinceMs = performance.now();
      await done;
      startMs += performance.now() - sinceMs - step.forMs;
    }
    await delay(Math.max(0, startMs + durationMs - performance.now()));
  }

  /** Ends every active fault. @throws the error of a fault that could not be carried out */
  async heal(): Promise<void> {
    this.#healing.abort();
    await Promise.all(this.#active);
    this.#options.cluster.heal();
  }

  async #perform(step: Step): Promise<void> {
    const { onEvent } = this.#options;
    const { fault, forMs } = step;
    this.counts[fault.kind] = (this.counts[fault.kind] ?? 0) + 1;
    this.#now.add(step);
    onEvent('begins', fault);
    await this.#begin(fault);
    const probe = fault.kind === 'freeze' ? writesGoOn(this.#options.cluster, fault.node) : [];
    const over = delay(forMs, undefined, { signal: this.#healing.signal }).catch(() => undefined);
    await over;
    await this.#end(fault);
    const blocked = await probe;
    // A fault that was healed early proves nothing.
    if (!this.#healing.signal.aborted) this.blocked.push(...blocked);
    this.#now.delete(step);
    onEvent('ends', fault);
  }

  async #begin(fault: Fault): Promise<void> {
    const { cluster } = this.#options;
    const { links } = cluster;
    switch (fault.kind) {
      case 'kill':
      case 'lose':
        await cluster.end(fault.node, 'SIGKILL');
        break;
      case 'stop':
        await cluster.end(fault.node, 'SIGTERM');
        break;
      case 'restart-all':
        await Promise.all(cluster.nodes.map((id) => cluster.end(id, fault.signal)));
        break;
      case 'wipe':
        await this.#wipe(fault.node);
        break;
      case 'rollback':
        await this.#rollBack(fault.node);
        break;
      case 'pause':
        cluster.signal(fault.node, 'SIGSTOP');
        break;
      case 'freeze':
        await this.#settle();
        cluster.signal(fault.node, 'SIGSTOP');
        break;
      case 'cut':
        links.proxy(fault.pair).cut();
        break;
      case 'mute':
        links.proxy(fault.pair).silence(fault.ways);
        break;
      case 'delay':
        links.proxy(fault.pair).delay(fault.ms);
        break;
      case 'isolate':
        cluster.isolate(fault.region, fault.how);
        break;
      case 'jump':
        cluster.setClock(fault.node, fault.byMs);
        break;
      case 'drift':
        cluster.setClock(fault.node, 0, fault.rate);
        break;
      case 'far-clock':
        cluster.setClock(fault.node, fault.byMs);
        break;
      case 'far-start':
        await cluster.end(fault.node, 'SIGKILL');
        cluster.setClock(fault.node, fault.byMs);
        cluster.launch(fault.node);
        break;
      case 'fill':
        cluster.fill(fault.node);
    }
  }

  async #end(fault: Fault): Promise<void> {
    const { cluster } = this.#options;
    switch (fault.kind) {
      case 'kill':
      case 'lose':
      case 'stop':
      case 'wipe':
        cluster.launch(fault.node);
        break;
      case 'rollback':
        cluster.attach(fault.node);
        break;
      case 'restart-all':
        for (const id of cluster.nodes) cluster.launch(id);
        break;
      case 'pause':
      case 'freeze':
        cluster.signal(fault.node, 'SIGCONT');
        break;
      case 'cut':
      case 'mute':
      case 'delay':
        cluster.links.proxy(fault.pair).heal();
        break;
      case 'isolate':
        cluster.reconnect(fault.region);
        break;
      case 'jump':
      case 'drift':
      case 'far-clock':
        cluster.setClock(fault.node, 0);
        break;
      case 'far-start':
        cluster.setClock(fault.node, 0);
        if (fault.startsAgain) await cluster.end(fault.node, 'SIGKILL');
        cluster.launch(fault.node);
        break;
      case 'fill':
        cluster.free(fault.node);
    }
  }

  /**
   * A lost disk takes with it all data without another replica, as the documentation states. So the loss happens when
   * nothing is in flight, and all data must be there afterwards.
   */
  async #wipe(node: string): Promise<void> {
    await this.#onceSettled(node, (cluster) => cluster.wipe(node));
  }

  /**
   * The node starts on a disk that lacks the latest writes, while its links are down. Other replicas have all of
   * them; what the node acknowledges from then on must not be lost with the disk.
   */
  async #rollBack(node: string): Promise<void> {
    const { cluster } = this.#options;
    await this.#onceSettled(node, () => cluster.backUp(node));
    cluster.launch(node);
    await delay(ROLLED_BACK_MS, undefined, { signal: this.#healing.signal }).catch(() => undefined);
    await this.#onceSettled(node, () => {
      cluster.restore(node);
      cluster.detach(node);
    });
    cluster.launch(node);
  }

  /** Ends the node when nothing is in flight and every write has reached all its replicas. */
  async #onceSettled(node: string, then: (cluster: ChaosCluster) => void): Promise<void> {
    const { cluster } = this.#options;
    await this.#settle(async () => {
      await cluster.end(node, 'SIGKILL');
      then(cluster);
    });
  }

  /** Waits until nothing is in flight and every write is replicated; no task begins until `then` is done. */
  async #settle(then: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    const { gate, settled } = this.#options;
    await gate.close();
    try {
      await settled();
      await then();
    } finally {
      gate.open();
    }
  }
}
