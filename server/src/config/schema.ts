/**
 * The shape of the cluster file, as data: it validates, types and documents. `checks.ts` has the checks that a shape
 * cannot express.
 */
import { DEFAULT_LIMITS } from '@isochron/core';
import { PROTOCOL_NAMES } from '@isochron/protocols/session-rules';
import { type Static, Type } from '@sinclair/typebox';

/** The most memory for keys, in bytes: rows in memory have places for twice as many. */
export const MAX_CACHE_BYTES = 2 ** 34;

/** How long an Idempotency-Key, or the outcome of a commit, can be looked up by default: one day. */
const DAY_MS = 86_400_000;

const NAME_PATTERN = '^[a-z0-9][a-z0-9-]{0,31}$';
const Name = (what: string) =>
  Type.String({ pattern: NAME_PATTERN, description: `${what}: 1 to 32 lower-case letters, digits and dashes` });
const strict = { additionalProperties: false } as const;
const int = (minimum: number, maximum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum, maximum, description }));

const NodeSchema = Type.Object(
  {
    id: Name('node id'),
    api: Type.String({ description: 'URL of the HTTP and WebSocket API, http or https' }),
    peer: Type.String({ description: 'URL of the peering links, ws or wss' }),
  },
  strict,
);

const RegionSchema = Type.Object(
  { id: Name('region id'), nodes: Type.Array(NodeSchema, { minItems: 1, description: 'at least one node' }) },
  strict,
);

const KeyspaceSchema = Type.Object(
  {
    name: Name('keyspace name'),
    partitions: Type.Integer({ minimum: 1, maximum: 4096, description: 'number of partitions, 1 to 4096' }),
    replication: int(1, 64, 'in how many regions each partition is held; they are chosen round-robin'),
    regions: Type.Optional(
      Type.Array(Name('region id'), { minItems: 1, description: 'the regions that hold it (data residency)' }),
    ),
    late: Type.Optional(
      Type.String({
        pattern: '^(time|order)$',
        description: 'time or order: whether a late write yields to changes of a later time',
      }),
    ),
  },
  strict,
);

const LimitsSchema = Type.Object(
  {
    maxKeyBytes: int(1, 1024, 'UTF-8 bytes of a key'),
    maxValueBytes: int(1, 16 * 2 ** 20, 'bytes of a value'),
    maxKeysPerRequest: int(1, 10_000, 'keys in one request'),
    maxRequestBytes: int(1024, 64 * 2 ** 20, 'bytes of one request or frame'),
  },
  strict,
);

const SettingsSchema = Type.Object(
  {
    applyIntervalMs: int(1, 10_000, 'how often replicas apply and replicate (the paper: Δ_R)'),
    gossipIntervalMs: int(1, 10_000, 'how often stabilisation gossips (the paper: Δ_G)'),
    maxTransactionMs: int(100, 3_600_000, 'how long a transaction may stay open'),
    retentionMs: int(0, 365 * DAY_MS, 'how long old versions are kept for reads of the past'),
    outcomeRetentionMs: int(1000, 365 * DAY_MS, 'how long the outcome of a commit can be asked for'),
    changeRetentionMs: int(1000, 365 * DAY_MS, 'how long the change feed goes back'),
    changeRetentionBytes: int(2 ** 20, 2 ** 50, 'bytes of each partition that it may go back over'),
    maxClockDriftMs: int(1, DAY_MS, 'how far the clocks of nodes may differ; clients may be ahead by half of it'),
    resolveAfterMs: int(10, 600_000, 'time after which a commit decision is requested'),
    readTimeoutMs: int(10, 600_000, 'time after which a read goes to another replica'),
    commitTimeoutMs: int(10, 600_000, 'time after which a commit is answered as of unknown outcome'),
    verifyTimeoutMs: int(
      0,
      DAY_MS,
      'how long a started node waits for a peer replica to confirm that its disk was not rolled back',
    ),
    suspendAfterMs: int(
      0,
      DAY_MS,
      'how long a node may not answer before stable time goes on without it; 0: the others wait for it',
    ),
    stalenessAlertMs: int(
      100,
      DAY_MS,
      'how old stable snapshots may be before the status, metrics, log and SDKs report it',
    ),
    cacheBytes: int(0, MAX_CACHE_BYTES, 'memory for the keys of one node; by default a share of its memory'),
    diskQuotaBytes: int(0, 2 ** 50, 'bytes that the data folder of one node may take; 0 for no quota'),
    minFreeDiskBytes: int(0, 2 ** 50, 'bytes that must stay free on the disk of a node'),
    durability: Type.Optional(Type.String({ pattern: '^(synced|memory)$', description: 'synced or memory' })),
    limits: Type.Optional(LimitsSchema),
  },
  strict,
);

const WanSchema = Type.Object(
  {
    oneWayMs: Type.Record(Type.String(), Type.Number({ minimum: 0, maximum: 60_000, description: '0 to 60000 ms' }), {
      description: 'one-way delay per pair: "a>b" for one direction, "a<>b" for both',
    }),
  },
  strict,
);

/** The cluster file. */
export const ClusterFileSchema = Type.Object(
  {
    protocol: Type.String({ description: `one of ${PROTOCOL_NAMES.join(', ')}` }),
    cluster: Type.Optional(Name('cluster id')),
    regions: Type.Array(RegionSchema, { minItems: 1, maxItems: 64, description: '1 to 64 regions' }),
    keyspaces: Type.Array(KeyspaceSchema, { minItems: 1, maxItems: 256, description: '1 to 256 keyspaces' }),
    settings: Type.Optional(SettingsSchema),
    wan: Type.Optional(WanSchema),
  },
  strict,
);

/** The content of a cluster file before defaults; also the input of `writeClusterFile`. */
export type ClusterFile = Static<typeof ClusterFileSchema>;

/** Default value of every setting; that of `cacheBytes` depends on the machine. */
export const DEFAULT_SETTINGS = {
  applyIntervalMs: 10,
  gossipIntervalMs: 10,
  maxTransactionMs: 30_000,
  retentionMs: 30_000,
  outcomeRetentionMs: DAY_MS,
  changeRetentionMs: 3_600_000,
  changeRetentionBytes: 256 * 2 ** 20,
  maxClockDriftMs: 5_000,
  resolveAfterMs: 2000,
  readTimeoutMs: 1000,
  commitTimeoutMs: 10_000,
  verifyTimeoutMs: 30_000,
  suspendAfterMs: 4_000,
  stalenessAlertMs: 10_000,
  cacheBytes: undefined,
  diskQuotaBytes: 0,
  minFreeDiskBytes: 64 * 2 ** 20,
  durability: 'synced',
  limits: DEFAULT_LIMITS,
} as const;
