/**
 * Maps: a decision of single-decree Paxos for each version, whose promise is the seal (M1, M2, M3), and adoption (M5).
 */
import type { Commits } from './commits.js';
import { type ClusterMap, isMember, type ModelNode, mapOf, type Proposal } from './state.js';
import { type MessageOf, Violation, type World } from './world.js';

export class Maps {
  constructor(
    readonly world: World,
    readonly commits: Commits,
    /** A node's map, or what it knows of others, has changed: its stable time may rise. */
    readonly changed: (node: ModelNode) => void,
  ) {}

  /** Proposes the next map: without some nodes, with one more, or as it is, which ends a seal. */
  propose(node: ModelNode, without: readonly number[], adds?: number): void {
    const { world } = this;
    const version = node.map + 1;
    const ballot = ++world.ballots * world.nodes.length + node.id;
    node.proposal = { version, ballot, without, adds, sealed: {}, map: undefined, acceptedBy: [] };
    for (const { id } of world.nodes)
      if (!without.includes(id)) world.send(node, id, { type: 'Seal', version, ballot });
  }

  onSeal(node: ModelNode, from: number, { version, ballot }: MessageOf<'Seal'>): void {
    if (version > node.map + 1) return;
    if (node.maps[version] !== undefined) {
      this.sendMaps(node, from);
      return;
    }
    const promise = promiseOf(node, version);
    if (ballot <= promise.promised) return;
    promise.promised = ballot;
    node.sealedFor = version;
    const minimum = this.world.is('horizonIsStableTime') ? node.ust : this.world.minimumOf(node);
    this.world.send(node, from, { type: 'Sealed', version, ballot, minimum, accepted: promise.accepted });
  }

  /** M3: all members that stay have sealed, and a majority of voters. */
  onSealed(node: ModelNode, from: number, { ballot, minimum, accepted }: MessageOf<'Sealed'>): void {
    const { world } = this;
    const { proposal } = node;
    if (proposal === undefined || proposal.ballot !== ballot || proposal.map !== undefined) return;
    proposal.sealed[from] = { minimum, accepted };
    const { version, without, adds } = proposal;
    const { members } = mapOf(node);
    const staying = members.filter((id) => !without.includes(id));
    const needed = adds === undefined ? staying : [...new Set([...staying, adds])];
    if (needed.some((id) => proposal.sealed[id] === undefined)) return;
    if (needed.length < (world.is('minorityDecides') ? 1 : world.majority)) return;
    proposal.map = acceptedIn(proposal, needed, world.is('ownMapWins')) ?? {
      version,
      members: [...needed].sort(),
      horizon: Math.min(...staying.filter((id) => id !== adds).map((id) => proposal.sealed[id]!.minimum)),
      suspends: without,
      returns: adds === undefined ? [] : [adds],
    };
    world.sendAll(node, { type: 'Accept', version, ballot, map: proposal.map });
  }

  onAccept(node: ModelNode, from: number, { version, ballot, map }: MessageOf<'Accept'>): void {
    if (node.maps[version] !== undefined || version > node.map + 1) return;
    const promise = promiseOf(node, version);
    if (ballot < promise.promised) return;
    promise.promised = ballot;
    promise.accepted = { ballot, map };
    node.sealedFor = version;
    this.world.send(node, from, { type: 'Accepted', version, ballot });
  }

  onAccepted(node: ModelNode, from: number, { ballot }: MessageOf<'Accepted'>): void {
    const { proposal, world } = { proposal: node.proposal, world: this.world };
    if (proposal?.map === undefined || proposal.ballot !== ballot || proposal.acceptedBy.includes(from)) return;
    proposal.acceptedBy.push(from);
    if (proposal.acceptedBy.length < (world.is('minorityDecides') ? 1 : world.majority)) return;
    node.proposal = undefined;
    if (node.maps.length === proposal.version) node.maps.push(proposal.map);
    for (const { id } of world.nodes) if (id !== node.id) this.sendMaps(node, id);
  }

  /** Sends a node all maps. */
  sendMaps(node: ModelNode, to: number): void {
    this.world.send(node, to, { type: 'Maps', maps: [...node.maps] });
  }

  onMaps(node: ModelNode, { maps }: MessageOf<'Maps'>): void {
    for (const map of maps) {
      const own = node.maps[map.version];
      if (own === undefined) node.maps.push(map);
      else if (!this.world.is('minorityDecides') && JSON.stringify(own) !== JSON.stringify(map))
        throw new Violation('one map a version', `${JSON.stringify(own)} and ${JSON.stringify(map)}`);
    }
  }

  /** M5: no stable time of an earlier map lies above the horizon; a member has everything up to there. */
  mayAdopt(node: ModelNode): boolean {
    const map = node.maps[node.map + 1];
    if (map === undefined || !node.isUp) return false;
    if (this.world.is('adoptsBelowHorizon')) return true;
    if (this.world.is('adoptsAboveOwnStableTime')) return this.#hasOfReturned(node, map);
    return !map.members.includes(node.id) || this.world.minimumOf(node, map) >= map.horizon;
  }

  #hasOfReturned(node: ModelNode, { returns }: ClusterMap): boolean {
    const others = returns.filter((id) => id !== node.id);
    return Object.values(node.vv).every((entries) => others.every((id) => (entries[id] ?? node.ust) >= node.ust));
  }

  /** M5: in one durable batch, a node takes out what the map defers. */
  adopt(node: ModelNode): void {
    const map = node.maps[node.map + 1]!;
    node.map++;
    node.sealedFor = 0;
    if (node.proposal !== undefined && node.proposal.version <= node.map) node.proposal = undefined;
    if (map.suspends.length > 0) this.#cut(node, map);
    if (this.world.is('debtEndsWithMap')) node.owes = false;
    if (map.returns.includes(node.id)) {
      this.world.counts.returned++;
      node.hasToOpen = true;
      node.owes = true;
    }
    this.changed(node);
  }

  #cut(node: ModelNode, map: ClusterMap): void {
    const { world, commits } = this;
    const { horizon, suspends } = map;
    if (node.ust > horizon) throw new Violation('no cut below a stable time', `${node.id}: ${node.ust} > ${horizon}`);
    for (const [partition, entries] of Object.entries(node.log)) {
      for (const entry of entries)
        if (entry.source === node.id && world.defers(map, entry, entry.ct)) commits.defer(node, entry, entry.ct, true);
      let kept = entries.filter((entry) => !world.defers(map, entry, entry.ct));
      const vv = node.vv[Number(partition)]!;
      for (const source of suspends) {
        if (source === node.id || (vv[source] ?? 0) <= horizon) continue;
        // Its stream is received again from the horizon.
        vv[source] = horizon;
        kept = kept.filter((entry) => entry.source !== source || entry.ct <= horizon);
      }
      node.log[Number(partition)] = kept;
    }
    for (const entry of node.queue) if (world.defers(map, entry, entry.ct)) commits.defer(node, entry, entry.ct, true);
    node.queue = node.queue.filter((entry) => !world.defers(map, entry, entry.ct));
    for (const [name, slice] of node.prepared) {
      if (!world.defers(map, slice, slice.pt)) continue;
      node.prepared.delete(name);
      if (world.is('cutAbortsVotes')) node.outcomes.set(name, { attempt: slice.attempt, isCommitted: false });
      else commits.defer(node, slice, slice.pt, false);
    }
    if (suspends.includes(node.id)) world.counts.suspended++;
  }

  /** Whether a node may propose a map: a member that knows of no later map. */
  mayPropose(node: ModelNode): boolean {
    return node.isUp && isMember(node, node.id) && node.maps[node.map + 1] === undefined;
  }
}

function promiseOf({ paxos }: ModelNode, version: number) {
  let promise = paxos.get(version);
  if (promise === undefined) {
    promise = { promised: -1, accepted: null };
    paxos.set(version, promise);
  }
  return promise;
}

/** The map that a voter has accepted with the highest ballot: a decider goes on with it. */
function acceptedIn({ sealed }: Proposal, voters: readonly number[], ignored: boolean): ClusterMap | undefined {
  const accepted = voters.flatMap((id) => sealed[id]!.accepted ?? []);
  const latest = accepted.sort((a, b) => b.ballot - a.ballot)[0];
  return ignored ? undefined : latest?.map;
}
