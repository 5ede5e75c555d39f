/** The state of the model: nodes, links and sessions as plain data. A node is a region, and a voter. */

/** The broken rules: what a mutant of the model does instead. */
export const MUTANTS = [
  'sealedNodeReports',
  'horizonIsStableTime',
  'cutIgnoresBehind',
  'adoptsBelowHorizon',
  'adoptsAboveOwnStableTime',
  'noFence',
  'cutAbortsVotes',
  'lateStreamIsTaken',
  'servesHigherMap',
  'sessionIgnoresCuts',
  'sessionTrustsAnswers',
  'readsOfAnyMap',
  'doubtIsForgotten',
  'returnsWhatWaits',
  'returnsBackwards',
  'returnsByLastTime',
  'returnsWithoutBehind',
  'laysOverBlindly',
  'minorityDecides',
  'debtEndsWithMap',
  'ownMapWins',
  'deferredIsSilent',
] as const;
export type Mutant = (typeof MUTANTS)[number];

/** How large a model is, and how it is broken. */
export interface Shape {
  /** The nodes that hold each partition. */
  readonly hosts: readonly (readonly number[])[];
  readonly sessions: number;
  /** Transactions of a session. */
  readonly transactions: number;
  /** Crashes, cuts of links and false suspicions. */
  readonly faults: number;
  readonly mutant?: Mutant | undefined;
}

/** A decided map: the members, the horizon, and who came and went. */
export interface ClusterMap {
  readonly version: number;
  readonly members: readonly number[];
  readonly horizon: number;
  readonly suspends: readonly number[];
  readonly returns: readonly number[];
}

/** The writes that a commit follows in its session: a cohort node of each, and the commit timestamp. */
export type Behind = readonly (readonly [node: number, ct: number])[];
/** The cohort node of each partition of a transaction. */
export type Cohorts = Readonly<Record<number, number>>;

/** The identity of an attempt, and what its cohorts store of it. */
export interface Attempt {
  readonly tx: number;
  readonly attempt: number;
  /** Version of the map that the attempt belongs to. */
  readonly map: number;
  readonly cohorts: Cohorts;
  readonly behind: Behind;
  /** The earliest commit timestamp of a transaction that is committed again. */
  readonly first: number | undefined;
}

/** A slice of an attempt at a cohort, with its proposal. */
export interface Prepared extends Attempt {
  readonly partition: number;
  readonly pt: number;
}

/** A committed slice: waiting for its turn, or in the log of a partition. */
export interface Entry extends Attempt {
  readonly partition: number;
  readonly ct: number;
  readonly first: number;
  /** The node that committed the slice. */
  readonly source: number;
}

/** A slice that a cut took out: in a record, in no queue. */
export interface DeferredSlice extends Attempt {
  readonly partition: number;
  /** The commit timestamp, or the proposal. */
  ct: number;
  behind: Behind;
  readonly first: number;
  isCommitted: boolean;
}

export interface Outcome {
  readonly attempt: number;
  readonly isCommitted: boolean;
}

/** What the client of a commit learns. */
export type Result = Omit<Entry, 'partition' | 'source'>;

/** An attempt at its coordinator. */
export interface CoordinatedAttempt extends Attempt {
  /** The number of its session; of a returning node -1. */
  readonly by: number;
  readonly above: number;
  proposals: Record<number, number>;
  joined: Behind;
}

/** A map that a node proposes. */
export interface Proposal {
  readonly version: number;
  readonly ballot: number;
  readonly without: readonly number[];
  readonly adds: number | undefined;
  readonly sealed: Record<number, { readonly minimum: number; readonly accepted: Accepted | null }>;
  map: ClusterMap | undefined;
  readonly acceptedBy: number[];
}

export interface Accepted {
  readonly ballot: number;
  readonly map: ClusterMap;
}

/** The return of a node: what it commits again, in order. */
export interface NodeReturn {
  readonly map: number;
  readonly lists: Record<number, readonly DeferredSlice[]>;
  /** Undefined until all members have answered. */
  owed: { readonly tx: number; readonly first: number; readonly partitions: readonly number[] }[] | undefined;
  current: CoordinatedAttempt | undefined;
  result: Result | undefined;
  behind: Behind;
  above: number;
}

/** The answers of the other cohorts about an overdue slice (D2). */
export interface Answers {
  readonly proposals: Record<number, number>;
  behind: Behind;
}

export interface ModelNode {
  readonly id: number;
  isUp: boolean;
  clock: number;
  /** Version of the adopted map. */
  map: number;
  /** All decided maps that the node knows, from version 0 on. */
  readonly maps: ClusterMap[];
  ust: number;
  /** By partition and source. */
  readonly vv: Record<number, Record<number, number>>;
  readonly log: Record<number, Entry[]>;
  /** Committed slices that are not applied. */
  queue: Entry[];
  readonly prepared: Map<string, Prepared>;
  readonly outcomes: Map<string, Outcome>;
  readonly deferred: Map<string, DeferredSlice>;
  readonly paxos: Map<number, { promised: number; accepted: Accepted | null }>;
  /** The version of the map that the node is sealed for; 0 for none. */
  sealedFor: number;
  /** Returned, and not counted by a stable time yet. */
  hasToOpen: boolean;
  owes: boolean;
  /** The clocks with which all members adopted a map. */
  fence: { readonly map: number; readonly clock: number };
  /** Lost with a crash, from here on: attempts by transaction, and reports by map and node. */
  coordinated: Map<number, CoordinatedAttempt>;
  reports: Map<number, Map<number, { readonly minimum: number; readonly clock: number }>>;
  proposal: Proposal | undefined;
  returning: NodeReturn | undefined;
  answers: Map<string, Answers>;
}

/** A write of a session that is not known to be stable. */
export interface OwnWrite extends Omit<Result, 'ct'> {
  /** Null while the write is deferred. */
  ct: number | null;
  /** The timestamp that the cut took. */
  was: number;
  /** Versions of the maps that deferred the write. */
  cuts: number[];
  /** The attempt that is under way, and the next attempt after refusals. */
  asked: number;
  next: number;
}

/** A commit of a session without an answer. */
export interface PendingCommit extends Attempt {
  readonly above: number;
  readonly cuts: number[];
  isRefused: boolean;
  next: number;
}

export interface SnapshotRead {
  readonly id: number;
  readonly snapshot: number;
  readonly partitions: readonly number[];
  readonly got: Map<number, number>;
  /** The session's own writes when the read began, and its past. */
  readonly own: { readonly tx: number; ct: number | null }[];
  readonly past: ReadonlySet<number>;
}

export interface Session {
  readonly number: number;
  at: number;
  seen: number;
  /** The highest map that it knows, and the cuts up to that. */
  map: number;
  readonly cuts: ClusterMap[];
  unstable: OwnWrite[];
  pending: PendingCommit | undefined;
  read: SnapshotRead | undefined;
  past: Set<number>;
  left: number;
  reads: number;
}

/** A transaction: its partitions, and everything that happened before it. */
export interface Transaction {
  readonly partitions: readonly number[];
  readonly past: ReadonlySet<number>;
}

export const EMPTY: readonly never[] = [];

/** The member or voter of a map. */
export const isMember = ({ maps, map }: ModelNode, id: number): boolean => maps[map]!.members.includes(id);
export const mapOf = ({ maps, map }: ModelNode): ClusterMap => maps[map]!;
export const sliceName = (tx: number, partition: number): string => `${tx}/${partition}`;
export const attemptName = (tx: number, partition: number, attempt: number): string => `${tx}/${partition}/${attempt}`;
export const partitionsOf = (cohorts: Cohorts): number[] => Object.keys(cohorts).map(Number);

/** Both lists, each pair once. */
export function joined(...lists: readonly Behind[]): Behind {
  const all = new Map(lists.flat().map((pair) => [pair.join(), pair] as const));
  return [...all.values()];
}

export function newNode(id: number, nodes: readonly number[], hosts: Shape['hosts']): ModelNode {
  const held = hosts.flatMap((at, partition) => (at.includes(id) ? [partition] : []));
  return {
    id,
    isUp: true,
    clock: 0,
    map: 0,
    maps: [{ version: 0, members: nodes, horizon: 0, suspends: [], returns: [] }],
    ust: 0,
    vv: Object.fromEntries(held.map((p) => [p, Object.fromEntries(hosts[p]!.map((source) => [source, 0]))])),
    log: Object.fromEntries(held.map((p) => [p, []])),
    queue: [],
    prepared: new Map(),
    outcomes: new Map(),
    deferred: new Map(),
    paxos: new Map(),
    sealedFor: 0,
    hasToOpen: false,
    owes: false,
    fence: { map: -1, clock: 0 },
    coordinated: new Map(),
    reports: new Map(),
    proposal: undefined,
    returning: undefined,
    answers: new Map(),
  };
}

export const newSession = (number: number, at: number, left: number): Session => ({
  number,
  at,
  seen: 0,
  map: 0,
  cuts: [],
  unstable: [],
  pending: undefined,
  read: undefined,
  past: new Set(),
  left,
  reads: 0,
});
