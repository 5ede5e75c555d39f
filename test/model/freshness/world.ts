/** The nodes of a model with their links and sessions: what all steps share. */
import {
  type Attempt,
  type Behind,
  type ClusterMap,
  type DeferredSlice,
  type Entry,
  isMember,
  type ModelNode,
  type Mutant,
  mapOf,
  newNode,
  newSession,
  type Result,
  type Session,
  type Shape,
  type Transaction,
} from './state.js';

/** A promise that the model broke. */
export class Violation extends Error {
  constructor(
    readonly promise: string,
    detail: string,
  ) {
    super(`${promise}: ${detail}`);
  }
}

/** The groups of a partition's own log that a peer lacks. */
export interface Stream {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  readonly entries: readonly Entry[];
}

type Body =
  | { readonly type: 'Prepare'; readonly partition: number; readonly attempt: Attempt; readonly above: number }
  | {
      readonly type: 'Prepared';
      readonly tx: number;
      readonly attempt: number;
      readonly partition: number;
      readonly pt: number;
      readonly behind: Behind;
    }
  | { readonly type: 'Refused'; readonly tx: number; readonly attempt: number; readonly highest: number }
  | { readonly type: 'Known'; readonly tx: number; readonly attempt: number; readonly result: Result }
  | {
      readonly type: 'Commit';
      readonly tx: number;
      readonly attempt: number;
      readonly partition: number;
      readonly ct: number;
      readonly behind: Behind;
    }
  | {
      readonly type: 'Resolve';
      readonly tx: number;
      readonly attempt: number;
      readonly partition: number;
      readonly of: number;
      readonly map: number;
    }
  | {
      readonly type: 'Resolved';
      readonly tx: number;
      readonly attempt: number;
      readonly partition: number;
      /** The partition of the cohort that asked. */
      readonly of: number;
      readonly state: 'committed' | 'aborted' | 'deferred' | 'prepared';
      readonly ts: number;
      readonly behind: Behind;
    }
  | { readonly type: 'Round'; readonly streams: readonly Stream[]; readonly minimum: number | undefined }
  | {
      readonly type: 'Read';
      readonly partition: number;
      readonly snapshot: number;
      readonly session: number;
      readonly read: number;
      readonly sessionMap: number;
      readonly deferred: readonly number[];
    }
  | {
      readonly type: 'ReadAnswer';
      readonly partition: number;
      readonly session: number;
      readonly read: number;
      readonly tx: number;
      readonly contained: readonly Result[];
    }
  | { readonly type: 'Seal'; readonly version: number; readonly ballot: number }
  | {
      readonly type: 'Sealed';
      readonly version: number;
      readonly ballot: number;
      readonly minimum: number;
      readonly accepted: { readonly ballot: number; readonly map: ClusterMap } | null;
    }
  | { readonly type: 'Accept'; readonly version: number; readonly ballot: number; readonly map: ClusterMap }
  | { readonly type: 'Accepted'; readonly version: number; readonly ballot: number }
  | { readonly type: 'Maps'; readonly maps: readonly ClusterMap[] }
  | { readonly type: 'DeferredReq'; readonly map: number; readonly fence: number }
  | { readonly type: 'DeferredResp'; readonly map: number; readonly list: readonly DeferredSlice[] };

/** A message, with the clock and the map of its sender. */
export type Message = Body & { readonly clock: number; readonly senderMap: number };
export type MessageOf<T extends Message['type']> = Extract<Message, { readonly type: T }>;

export class World {
  readonly nodes: readonly ModelNode[];
  readonly sessions: readonly Session[];
  /** By sender and receiver, in order. */
  readonly network: Message[][][];
  /** Whether messages pass, by sender and receiver. */
  readonly links: boolean[][];
  readonly transactions: Transaction[] = [];
  readonly acknowledged = new Set<number>();
  /** The transaction that a snapshot of a partition has shown. */
  readonly shown = new Map<string, number>();
  readonly counts = { suspended: 0, returned: 0, deferred: 0, reads: 0, commits: 0, recommits: 0, returns: 0 };
  ballots = 0;
  faults: number;

  constructor(
    readonly shape: Shape,
    nodes: number,
  ) {
    const ids = Array.from({ length: nodes }, (_, id) => id);
    this.nodes = ids.map((id) => newNode(id, ids, shape.hosts));
    this.sessions = Array.from({ length: shape.sessions }, (_, n) => newSession(n, n % nodes, shape.transactions));
    this.network = ids.map(() => ids.map(() => []));
    this.links = ids.map(() => ids.map(() => true));
    this.faults = shape.faults;
  }

  get majority(): number {
    return Math.floor(this.nodes.length / 2) + 1;
  }

  /** Whether a rule is broken in this model. */
  is(mutant: Mutant): boolean {
    return this.shape.mutant === mutant;
  }

  /** Whether messages pass from one node to another. */
  reaches(from: number, to: number): boolean {
    return this.nodes[from]!.isUp && this.nodes[to]!.isUp && (from === to || this.links[from]![to]!);
  }

  send({ id, clock, map }: ModelNode, to: number, body: Body): void {
    if (this.reaches(id, to)) this.network[id]![to]!.push({ ...body, clock, senderMap: map });
  }

  sendAll(from: ModelNode, body: Body): void {
    for (const { id } of this.nodes) this.send(from, id, body);
  }

  /**
   * M4: whether a map defers an attempt with this timestamp. A pure function of both: every replica gives the same
   * answer.
   */
  defers({ version, suspends, horizon }: ClusterMap, { map, cohorts, behind }: Attempt, ts: number): boolean {
    if (suspends.length === 0 || map >= version || ts <= horizon) return false;
    if (Object.values(cohorts).some((node) => suspends.includes(node))) return true;
    return !this.is('cutIgnoresBehind') && behind.some(([node, ct]) => suspends.includes(node) && ct > horizon);
  }

  /** Whether one of the maps that a node has adopted defers an entry. */
  isDeferred({ maps, map }: ModelNode, entry: Entry): boolean {
    return maps.slice(0, map + 1).some((one) => this.defers(one, entry, entry.ct));
  }

  /** The durable minimum of a node (D1), as a map counts: up to here it has everything of every member. */
  minimumOf(node: ModelNode, map = mapOf(node)): number {
    let minimum = Number.POSITIVE_INFINITY;
    for (const entries of Object.values(node.vv))
      for (const [source, ts] of Object.entries(entries))
        if (Number(source) === node.id || map.members.includes(Number(source))) minimum = Math.min(minimum, ts);
    return minimum;
  }

  /** Whether a node prepares: a member whose map is known to count (M12). */
  mayWrite(node: ModelNode): boolean {
    return isMember(node, node.id) && !node.hasToOpen;
  }
}
