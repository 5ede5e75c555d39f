import type { DurableFact, NodeId, PartitionId, RegionId, TxId } from '@isochron/core';
import type { Check, CheckContext } from '../check.js';
import type { Ledger } from '../evidence/ledger.js';

/** A node whose disk is being verified. */
interface VerifyingNode {
  /** When its clock has moved forward this far, the node may have waited long enough: never later than it does. */
  readonly untilMs: number;
  readonly isLinked: boolean;
  /** Partitions of which no peer replica has reported since the start. */
  readonly silent: Set<PartitionId>;
}

const nameOf = (partition: PartitionId, region: RegionId): string => `${partition}/${region}`;

/** The parts of a node that this check needs. */
export interface WatchedNode {
  /** Whether the disk holds data that the node goes on with. */
  hasData(node: NodeId): boolean;
  /** How far its clock has moved forward. */
  forwardMs(node: NodeId): number;
}

/**
 * The nodes that must decide nothing yet, because no peer replica of some partition has reported since their start
 * (D10). `verifyTimeoutMs` bounds the wait; it counts from the first link to another node, and before that from the
 * start.
 */
export class FirstReports implements Check {
  readonly name = 'first-reports';
  readonly #waiting = new Map<NodeId, VerifyingNode>();
  /** When peer replicas first reported to a node since its start. */
  readonly #reported = new Map<NodeId, Map<string, number>>();
  readonly #down = new Set<NodeId>();

  constructor(
    readonly context: Pick<CheckContext, 'topology' | 'time' | 'isGone'>,
    readonly nodes: WatchedNode,
    readonly verifyTimeoutMs: number,
  ) {}

  crashed(node: NodeId): void {
    this.#down.add(node);
  }

  started(node: NodeId): void {
    this.#down.delete(node);
    this.#reported.set(node, new Map());
    const { partitions } = this.context.topology;
    const shared = this.context.topology.partitionsOn(node).filter((id) => partitions[id]!.regions.length > 1);
    if (!this.nodes.hasData(node) || shared.length === 0) this.#waiting.delete(node);
    else this.#waiting.set(node, { untilMs: this.#untilMs(node), isLinked: false, silent: new Set(shared) });
  }

  linked(node: NodeId): void {
    const waiting = this.#waiting.get(node);
    if (waiting === undefined || waiting.isLinked) return;
    this.#waiting.set(node, { ...waiting, untilMs: this.#untilMs(node), isLinked: true });
  }

  reported(node: NodeId, partition: PartitionId, region: RegionId): void {
    const reports = this.#reported.get(node);
    const name = nameOf(partition, region);
    if (reports?.has(name) === false) reports.set(name, this.context.time.now);
    this.#waiting.get(node)?.silent.delete(partition);
  }

  /**
   * Whether a region's replica of the partition has reported since the node's start, less than `verifyTimeoutMs` ago.
   */
  hasReported(node: NodeId, partition: PartitionId, region: RegionId): boolean {
    const atMs = this.#reported.get(node)?.get(nameOf(partition, region));
    return atMs !== undefined && this.context.time.now < atMs + this.verifyTimeoutMs;
  }

  /** Whether the node may decide transactions. */
  mayDecide(node: NodeId): boolean {
    if (this.#down.has(node)) return false;
    const waiting = this.#waiting.get(node);
    if (waiting === undefined || this.nodes.forwardMs(node) >= waiting.untilMs) return true;
    return ![...waiting.silent].some((partition) => this.#hasPeer(node, partition));
  }

  /** Whether another node that is not lost for good has a replica: nothing of an evicted node is waited for (M14). */
  #hasPeer(node: NodeId, partition: PartitionId): boolean {
    const { topology, isGone = () => false } = this.context;
    const hosts = topology.partitions[partition]!.regions.map((region) => topology.replicaNode(partition, region)!);
    return hosts.some((host) => host !== node && !isGone(host));
  }

  /** Nodes measure whole milliseconds. */
  #untilMs(node: NodeId): number {
    return this.nodes.forwardMs(node) + this.verifyTimeoutMs - 1;
  }
}

/**
 * After a start a node decides nothing until a peer replica of each of its partitions has reported, or
 * `verifyTimeoutMs` has passed: writes that it acknowledged on an older disk would be lost with that disk (D10). A
 * commit or an abort that a coordinator sends was decided before, and may be carried out.
 */
export class NothingBeforeReports implements Check {
  readonly name = 'nothing-before-reports';

  constructor(
    readonly context: CheckContext,
    readonly ledger: Pick<Ledger, 'committed' | 'isDamaged'>,
    readonly reports: FirstReports,
  ) {}

  wrote(node: NodeId, record: DurableFact): void {
    if (record.kind === 'prepared' && record.record?.deferred !== undefined) return;
    if (record.kind === 'prepared' && record.record !== null && record.record.ct === undefined)
      this.#decides(node, record.txId, 'prepares');
    const txId = committedIn(record);
    if (txId === undefined) return;
    if (this.ledger.committed(txId) === undefined && !this.ledger.isDamaged(txId)) this.#decides(node, txId, 'commits');
  }

  #decides(node: NodeId, txId: string, what: string): void {
    if (this.reports.mayDecide(node)) return;
    this.context.fail(this.name, `${node} ${what} ${txId} before its peers have reported`, [txId, node]);
  }
}

/** The transaction that a fact states as committed. */
function committedIn(fact: DurableFact): TxId | undefined {
  if (fact.kind === 'prepared') return fact.record?.ct === undefined ? undefined : fact.txId;
  return fact.kind === 'outcome' && fact.record.status === 'committed' ? fact.txId : undefined;
}
