/** The part of the answer of `/v1/cluster` that the command line relies on. */
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';

// Names are printed to a terminal: they must not contain control characters.
export const Name = Type.String({ pattern: '^[A-Za-z0-9._/-]{1,128}$' });
export const Count = Type.Number({ minimum: 0 });

const PartitionSchema = Type.Object({
  partition: Name,
  regions: Type.Array(Name),
  prepared: Count,
  committed: Count,
  keys: Count,
  versions: Count,
});

const LinkSchema = Type.Object({
  node: Name,
  region: Name,
  up: Type.Boolean(),
  rttMs: Type.Union([Type.Number(), Type.Null()]),
  reconnects: Count,
  lastError: Type.Union([Type.String(), Type.Null()]),
});

const PartSchema = Type.Object({
  hash: Type.Union([Name, Type.Null()]),
  differsFrom: Type.Array(Name),
  missing: Type.Boolean(),
});

const NodeSchema = Type.Object({
  node: Name,
  region: Name,
  protocol: Name,
  version: Name,
  uptimeMs: Count,
  ust: Count,
  stalenessMs: Type.Number(),
  openTransactions: Count,
  losses: Type.Optional(Type.Object({ open: Count })),
  protection: Type.Optional(Type.Object({ rules: PartSchema, users: PartSchema })),
  rssBytes: Count,
  clock: Type.Optional(Type.Object({ problem: Type.Union([Type.String(), Type.Null()]), driftMs: Type.Number() })),
  blocking: Type.Optional(Type.Object({ reads: Count, totalMs: Count, longestMs: Count })),
  verification: Type.Optional(Type.Object({ state: Name, missing: Type.Array(Name), timedOut: Type.Boolean() })),
  map: Type.Optional(
    Type.Object({
      version: Count,
      away: Type.Array(Name),
      suspended: Type.Array(Name),
      deferred: Count,
      isSealed: Type.Boolean(),
      held: Type.Array(Name),
      evicted: Type.Array(Name),
      absences: Type.Array(Type.Object({ node: Name, since: Count, isOrdered: Type.Boolean() })),
      leaving: Type.Array(Name),
      silent: Type.Array(Name),
      deferredFor: Type.Record(Name, Count),
      owes: Type.Boolean(),
    }),
  ),
  partitions: Type.Array(PartitionSchema),
  links: Type.Array(LinkSchema),
});

const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

const StabilitySchema = Type.Object({
  stalenessMs: Count,
  alertMs: Count,
  stale: Type.Boolean(),
  lowest: Nullable(
    Type.Object({ region: Name, node: Nullable(Name), partition: Name, timestamp: Count, ageMs: Type.Number() }),
  ),
  heldBackBy: Nullable(Type.Object({ region: Name, node: Nullable(Name), partition: Nullable(Name) })),
});

const ObstacleSchema = Type.Object({ check: Name, reason: Type.String() });

const ClusterSchema = Type.Object({
  cluster: Name,
  protocol: Name,
  regions: Type.Array(
    Type.Object({
      id: Name,
      nodes: Type.Array(Type.Object({ id: Name, api: Type.String({ pattern: '^https?://[\\x21-\\x7e]+$' }) })),
    }),
  ),
  keyspaces: Type.Array(
    Type.Object({
      name: Name,
      partitions: Type.Integer({ minimum: 1 }),
      replication: Type.Optional(Type.Integer({ minimum: 1 })),
      regions: Type.Optional(Type.Array(Name)),
    }),
  ),
  stability: StabilitySchema,
  unready: Type.Optional(Type.Array(ObstacleSchema)),
  node: NodeSchema,
});

const ProblemSchema = Type.Object({ code: Type.String(), detail: Type.String() });

/** The cluster as one node reports it, with that node's status. */
export type ClusterAnswer = Static<typeof ClusterSchema>;
/** Status of one node. */
export type NodeAnswer = Static<typeof NodeSchema>;
/** The map that a node has adopted. */
export type MapAnswer = NonNullable<NodeAnswer['map']>;
/** Why a node is not ready. */
export type Obstacle = Static<typeof ObstacleSchema>;
/** Stable time as one node reports it. */
export type StabilityAnswer = Static<typeof StabilitySchema>;
export type ProblemAnswer = Static<typeof ProblemSchema>;

/** Whether an answer has the shape that its reader relies on. */
export const reader =
  <S extends TSchema>(schema: S) =>
  (answer: unknown): answer is Static<S> =>
    Value.Check(schema, answer);

/** The map of the highest version; undefined without any. */
export const newestMap = (maps: readonly MapAnswer[]): MapAnswer | undefined =>
  maps.reduce<MapAnswer | undefined>((best, map) => (map.version > (best?.version ?? -1) ? map : best), undefined);

export const isCluster = reader(ClusterSchema);
export const isProblem = reader(ProblemSchema);
