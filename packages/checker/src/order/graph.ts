import { type Groups, groupBy, type IntList } from '../input/ints.js';

/** A directed graph over `0 … nodes - 1`, as edge lists. Nothing here recurses: histories are deeper than any stack. */
export class Digraph {
  readonly #from: Int32Array;
  readonly #to: Int32Array;
  readonly #out: Groups;

  /** Edge i goes from `from[i]` to `to[i]`. */
  constructor(
    readonly nodes: number,
    from: IntList,
    to: IntList,
  ) {
    this.#from = from.view();
    this.#to = to.view();
    this.#out = groupBy(this.#from, nodes);
  }

  /** Nodes in topological order (Kahn). Shorter than `nodes` when there is a cycle. */
  topologicalOrder(): Int32Array {
    const incoming = new Int32Array(this.nodes);
    for (const node of this.#to) incoming[node]!++;
    const order = new Int32Array(this.nodes);
    let end = 0;
    for (let node = 0; node < this.nodes; node++) if (incoming[node] === 0) order[end++] = node;
    for (let i = 0; i < end; i++) {
      const node = order[i]!;
      for (let e = this.#out.starts[node]!; e < this.#out.starts[node + 1]!; e++) {
        const next = this.#to[this.#out.items[e]!]!;
        if (--incoming[next]! === 0) order[end++] = next;
      }
    }
    return order.subarray(0, end);
  }

  /** The strongly connected component of each node (Tarjan), numbered from 0. */
  components(): Int32Array {
    const { starts, items } = this.#out;
    const component = new Int32Array(this.nodes).fill(-1);
    const index = new Int32Array(this.nodes).fill(-1);
    const low = new Int32Array(this.nodes);
    const nextEdge = starts.slice(0, this.nodes);
    const path = new Int32Array(this.nodes);
    const open = new Int32Array(this.nodes);
    let [visited, depth, opened, found] = [0, 0, 0, 0];
    const enter = (node: number): void => {
      index[node] = low[node] = visited++;
      path[depth++] = node;
      open[opened++] = node;
    };
    for (let root = 0; root < this.nodes; root++) {
      if (index[root] !== -1) continue;
      enter(root);
      while (depth > 0) {
        const node = path[depth - 1]!;
        if (nextEdge[node]! < starts[node + 1]!) {
          const next = this.#to[items[nextEdge[node]!++]!]!;
          if (index[next] === -1) enter(next);
          else if (component[next] === -1) low[node] = Math.min(low[node]!, index[next]!);
          continue;
        }
        depth--;
        if (depth > 0) low[path[depth - 1]!] = Math.min(low[path[depth - 1]!]!, low[node]!);
        if (low[node] !== index[node]) continue;
        let member: number;
        do {
          member = open[--opened]!;
          component[member] = found;
        } while (member !== node);
        found++;
      }
    }
    return component;
  }
}
