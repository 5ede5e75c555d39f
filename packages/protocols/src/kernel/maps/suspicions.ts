import type { NodeId, Topology, WallMs } from '@isochron/core';

const NONE: ReadonlySet<NodeId> = new Set();
const pair = (a: NodeId, b: NodeId): string => (a < b ? `${a} ${b}` : `${b} ${a}`);

/**
 * Which members do not answer, by the reports of all: each member reports to the voters from whom it receives nothing.
 * The first voter that reaches a majority decides. A member is suspended once a majority of the voters has received
 * nothing from it for the grace; of two members that do not receive from each other, a single member is, after the
 * same time.
 */
export class Suspicions {
  readonly #silent = new Map<NodeId, ReadonlySet<NodeId>>();
  /** Since when a node does not answer a majority of the voters, or two nodes do not receive from each other. */
  readonly #since = new Map<string, WallMs>();

  constructor(readonly node: NodeId) {}

  /** Whether anyone reports anything. */
  get isOpen(): boolean {
    return [...this.#silent.values()].some((nodes) => nodes.size > 0);
  }

  /** The nodes from which this node receives nothing. */
  get own(): readonly NodeId[] {
    return [...this.#of(this.node)];
  }

  report(from: NodeId, nodes: readonly NodeId[]): void {
    this.#silent.set(from, new Set(nodes));
  }

  /** The members of the next map; undefined while all stay, or another node decides. */
  staying(topology: Topology, now: WallMs, graceMs: number): readonly NodeId[] | undefined {
    const own = this.#of(this.node);
    const { members, voters } = topology;
    const reached = voters.filter((voter) => !own.has(voter));
    const majority = Math.floor(voters.length / 2) + 1;
    const isGone = (node: NodeId) => reached.filter((voter) => this.#of(voter).has(node)).length >= majority;
    const gone = new Set(members.filter((node) => this.#lasts(node, isGone(node), now, graceMs)));
    const staying = members.filter((node) => !gone.has(node));
    const isBroken = (a: NodeId, b: NodeId) => this.#of(a).has(b) || this.#of(b).has(a);
    const broken = new Set<string>();
    for (const [i, a] of staying.entries())
      for (const b of staying.slice(i + 1)) {
        const name = pair(a, b);
        if (this.#lasts(name, isBroken(a, b), now, graceMs)) broken.add(name);
      }
    const linked = withoutBroken(staying, broken);
    const decides = reached.length >= majority && reached.find((voter) => linked.includes(voter)) === this.node;
    // The horizon is the lowest minimum of those that stay: without data among them, none bounds the stable time.
    const hasData = linked.some((node) => topology.partitionsOn(node).length > 0);
    const isEnough = hasData && linked.filter((node) => voters.includes(node)).length >= majority;
    return decides && isEnough && linked.length < members.length ? linked : undefined;
  }

  /** Whether a state has lasted for the grace. */
  #lasts(name: string, holds: boolean, now: WallMs, graceMs: number): boolean {
    if (!holds) {
      this.#since.delete(name);
      return false;
    }
    const since = this.#since.get(name);
    if (since === undefined) this.#since.set(name, now);
    return since !== undefined && Math.abs(now - since) >= graceMs;
  }

  #of(node: NodeId): ReadonlySet<NodeId> {
    return this.#silent.get(node) ?? NONE;
  }
}

/** The nodes without the ends of broken links: the node with the most of these goes first, of several the last. */
function withoutBroken(nodes: readonly NodeId[], broken: ReadonlySet<string>): readonly NodeId[] {
  const countOf = (node: NodeId) => nodes.filter((other) => other !== node && broken.has(pair(node, other))).length;
  const worst = nodes.reduceRight((found, node) => (countOf(node) > countOf(found) ? node : found), nodes.at(-1)!);
  return countOf(worst) === 0
    ? nodes
    : withoutBroken(
        nodes.filter((node) => node !== worst),
        broken,
      );
}
