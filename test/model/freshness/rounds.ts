/** Rounds: a node applies, replicates and reports (Algorithm 4); stable time is the minimum over all members. */
import type { Maps } from './maps.js';
import { isMember, type ModelNode, mapOf } from './state.js';
import { type MessageOf, type Stream, Violation, type World } from './world.js';

export class Rounds {
  constructor(
    readonly world: World,
    readonly maps: Maps,
  ) {}

  round(node: ModelNode): void {
    const { world } = this;
    node.clock++;
    for (const partition of Object.keys(node.vv).map(Number)) this.#apply(node, partition);
    // M2: a sealed node reports no more.
    const reports = isMember(node, node.id) && (node.sealedFor === 0 || world.is('sealedNodeReports'));
    const minimum = reports ? world.minimumOf(node) : undefined;
    for (const peer of world.nodes)
      if (peer.id !== node.id)
        world.send(node, peer.id, { type: 'Round', streams: this.#streams(node, peer), minimum });
    if (minimum !== undefined && node.sealedFor === 0) this.#report(node, node.id, node.map, minimum, node.clock);
  }

  onRound(node: ModelNode, from: number, { streams, minimum, clock, senderMap }: MessageOf<'Round'>): void {
    const { world } = this;
    if (senderMap < node.map) this.maps.sendMaps(node, from);
    if (!isMember(node, from) && senderMap < node.map) return;
    for (const { partition, from: start, to, entries } of streams) {
      const vv = node.vv[partition]!;
      const have = vv[from]!;
      if (start > have || to <= have) continue;
      // M4: what a map has deferred is not taken, however late it comes.
      const isTaken = world.is('lateStreamIsTaken')
        ? () => true
        : (entry: (typeof entries)[0]) => !world.isDeferred(node, entry);
      node.log[partition]!.push(...entries.filter((entry) => entry.ct > have && isTaken(entry)));
      vv[from] = to;
    }
    if (minimum !== undefined) this.#report(node, from, senderMap, minimum, clock);
  }

  /** Stable time: the lowest report of all members of the map, once each has reported under the map. */
  update(node: ModelNode): void {
    const { members } = mapOf(node);
    const reports = node.reports.get(node.map);
    if (!members.includes(node.id)) return;
    const known = members.flatMap((id) => reports?.get(id) ?? []);
    if (known.length < members.length) return;
    node.hasToOpen = false;
    if (node.fence.map !== node.map)
      node.fence = { map: node.map, clock: Math.max(...known.map(({ clock }) => clock)) };
    const ust = Math.min(...known.map(({ minimum }) => minimum));
    if (ust <= node.ust) return;
    node.ust = ust;
    const minimum = this.world.minimumOf(node);
    if (ust > minimum) throw new Violation('PU2', `${node.id} has ${ust} above ${minimum} in map ${node.map}`);
  }

  #apply(node: ModelNode, partition: number): void {
    let upTo = node.clock;
    for (const slice of node.prepared.values()) if (slice.partition === partition) upTo = Math.min(upTo, slice.pt - 1);
    const vv = node.vv[partition]!;
    if (upTo <= vv[node.id]!) return;
    const isDue = (entry: { partition: number; ct: number }) => entry.partition === partition && entry.ct <= upTo;
    node.log[partition]!.push(...node.queue.filter(isDue));
    node.queue = node.queue.filter((entry) => !isDue(entry));
    vv[node.id] = upTo;
  }

  /** What a peer lacks of the node's own groups; the model looks at the peer instead of asking for its position. */
  #streams(node: ModelNode, peer: ModelNode): Stream[] {
    return Object.entries(node.vv).flatMap(([name, vv]) => {
      const partition = Number(name);
      const from = peer.vv[partition]?.[node.id];
      if (from === undefined) return [];
      const entries = node.log[partition]!.filter(({ source, ct }) => source === node.id && ct > from);
      return [{ partition, from, to: vv[node.id]!, entries }];
    });
  }

  #report(node: ModelNode, of: number, map: number, minimum: number, clock: number): void {
    const reports = node.reports.get(map) ?? new Map<number, { minimum: number; clock: number }>();
    node.reports.set(map, reports);
    const before = reports.get(of);
    reports.set(of, {
      minimum: Math.max(minimum, before?.minimum ?? 0),
      clock: Math.max(clock, before?.clock ?? 0),
    });
    this.update(node);
  }
}
