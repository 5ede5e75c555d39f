/** Shapes of the HTTP API: they validate, type and document it. */
import { ERROR_CODES, type Operation } from '@isochron/core';
import type { TxState } from '@isochron/wire/session-frames';
import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { COMPONENT } from './components.js';
import { READINESS_CHECKS } from './readiness.js';

const strict = { additionalProperties: false } as const;
const object = <P extends TProperties>(properties: P, description?: string): TObject<P> =>
  Type.Object(properties, description === undefined ? strict : { ...strict, description });
/** An object that is a component of the OpenAPI document, under this name. */
const named = <P extends TProperties>(name: string, properties: P, description?: string): TObject<P> =>
  Type.Object(properties, { ...strict, [COMPONENT]: name, ...(description === undefined ? {} : { description }) });

const TIMESTAMP = { minimum: 0, maximum: 2 ** 53 - 2 ** 40, examples: [195_387_383_808_000] };
const TimestampSchema = Type.Integer({
  ...TIMESTAMP,
  [COMPONENT]: 'Timestamp',
  description: 'Hybrid logical timestamp: (ms since 2025-01-01T00:00Z) × 4096 + logical part',
});
const AtSchema = Type.Integer({ ...TIMESTAMP, description: 'the snapshot to read; default the newest stable one' });
const Nullable = <T extends TSchema>(schema: T, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
const NullableTimestamp = Nullable(TimestampSchema);

/** No bounds here: the rules refuse bad names and keys with codes of their own. */
const KeyRef = named('KeyRef', {
  keyspace: Type.String({ examples: ['default'] }),
  key: Type.String({ examples: ['todos/1'] }),
});

/** Body of the reads. */
export const ReadBody = named('ReadRequest', {
  keys: Type.Array(KeyRef, { description: 'at most `maxKeysPerRequest`; answered in this order' }),
  at: Type.Optional(AtSchema),
});
export const TxReadBody = named('TransactionReadRequest', { keys: ReadBody.properties.keys });
export type ReadBody = Static<typeof ReadBody>;

const OPERATIONS = {
  set: 'stores `value`',
  remove: 'removes what is there',
  mergePatch: 'merges `patch` (RFC 7396)',
  increment: 'adds `by`',
  max: 'keeps the greater of the number and `value`',
  min: 'keeps the lesser',
  arrayUnion: 'adds the `items` that the array does not have',
  arrayRemove: 'removes all items that equal one of `items`',
  append: 'adds `items` at the end',
  serverTimestamp: 'stores the time of the commit, in ms since 1970',
  init: 'stores `value` as the document where there is none; has no `path`',
} satisfies Record<Operation['op'], string>;
/** No closer shape here: the rules refuse bad operations with a code of their own. */
const OperationSchema = Type.Object(
  {
    op: Type.String({
      description: Object.entries(OPERATIONS)
        .map(([op, what]) => `\`${op}\` ${what}`)
        .join(', '),
      examples: ['increment'],
    }),
    path: Type.Optional(Type.String({ description: "a JSON Pointer; '' is the document", examples: ['/left'] })),
    value: Type.Optional(Type.Unknown({ description: 'of set, max, min and init' })),
    by: Type.Optional(Type.Unknown({ description: 'of increment: a number', examples: [-1] })),
    patch: Type.Optional(Type.Unknown({ description: 'of mergePatch (RFC 7396)' })),
    items: Type.Optional(Type.Unknown({ description: 'of arrayUnion, arrayRemove and append: an array' })),
  },
  { [COMPONENT]: 'Operation', description: 'one change of a document: docs/updates.md' },
);
/** Body of a PATCH with operations. */
export const Operations = Type.Array(OperationSchema, { description: 'applied in this order' });

const WriteRef = named('Write', {
  keyspace: Type.String({ examples: ['default'] }),
  key: Type.String({ examples: ['todos/1'] }),
  value: Type.Optional(Type.Unknown({ description: 'a JSON document', examples: [{ title: 'buy milk' }] })),
  bytes: Type.Optional(Type.String({ description: 'a binary value in base64' })),
  delete: Type.Optional(Type.Literal(true, { description: 'deletes the key' })),
  operations: Type.Optional(Operations),
});
/** Body of the commits. Each write has exactly one of `value`, `bytes`, `delete` and `operations`. */
export const CommitBody = named('CommitRequest', { writes: Type.Array(WriteRef, { minItems: 1 }) });
export type CommitBody = Static<typeof CommitBody>;
export type WriteRef = Static<typeof WriteRef>;

export const StartBody = named('StartRequest', { at: Type.Optional(AtSchema) });

const ChangedWrite = named('ChangedWrite', {
  keyspace: Type.String({ examples: ['default'] }),
  key: Type.String({ examples: ['todos/1'] }),
  value: Type.Optional(
    Type.Unknown({ description: 'the JSON document after the change; of an update only with `values`' }),
  ),
  bytes: Type.Optional(
    Type.String({ description: 'the binary value after the change, in base64; of an update only with `values`' }),
  ),
  operations: Type.Optional(Type.Array(Type.Unknown(), { description: 'what an update does to the document' })),
  delete: Type.Optional(Type.Literal(true, { description: 'the key was deleted' })),
  valueGone: Type.Optional(
    Type.Literal(true, { description: 'the document after the update is not kept any more, or too large' }),
  ),
  before: Type.Optional(Type.Unknown({ description: 'with `before`: the JSON document before the change, if any' })),
  beforeBytes: Type.Optional(Type.String({ description: 'the binary value before the change, in base64' })),
  beforeGone: Type.Optional(
    Type.Literal(true, { description: 'the document before the change is not kept any more, or too large' }),
  ),
});
const ChangedTransaction = named('ChangedTransaction', {
  id: Type.String({ description: 'transaction id' }),
  timestamp: TimestampSchema,
  writes: Type.Array(ChangedWrite),
});
export const ChangesAnswer = named('Changes', {
  from: TimestampSchema,
  to: TimestampSchema,
  cursor: Type.String({ description: 'continues behind this message, on any node' }),
  transactions: Type.Array(ChangedTransaction, { description: 'all of the scope with from < timestamp <= to' }),
});
export const ChangesQuery = object({
  keyspace: Type.Optional(Type.String({ description: 'only this keyspace; default all' })),
  prefix: Type.Optional(
    Type.String({ description: 'only keys of the keyspace with this prefix; percent-encoded, with %2B for a plus' }),
  ),
  since: Type.Optional(Type.String({ description: 'a cursor; default the present end of the feed' })),
  at: Type.Optional(Type.Integer({ ...TIMESTAMP, description: 'instead of a cursor: changes after this snapshot' })),
  wait: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 30_000, default: 10_000, description: 'ms to wait for a transaction' }),
  ),
  values: Type.Optional(Type.Boolean({ description: 'updates have their document after the transaction, too' })),
  before: Type.Optional(Type.Boolean({ description: 'all writes have the document before the transaction, too' })),
});

export const AtQuery = object({ at: Type.Optional(AtSchema) });
export const ListQuery = object({
  prefix: Type.Optional(
    Type.String({ description: 'only keys with this prefix; percent-encoded, with %2B for a plus: + is a blank' }),
  ),
  start: Type.Optional(Type.String({ description: 'first key that may be listed; percent-encoded as prefix' })),
  limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000, default: 100 })),
  cursor: Type.Optional(
    Type.String({ description: 'continues a listing, in its snapshot; goes with no other parameter but limit' }),
  ),
  at: Type.Optional(AtSchema),
});
export type ListQuery = Static<typeof ListQuery>;
export const StableQuery = object({
  ts: Type.Integer({ ...TIMESTAMP, description: 'timestamp of a write' }),
  timeout: Type.Optional(Type.Integer({ minimum: 0, maximum: 60_000, default: 10_000, description: 'milliseconds' })),
});
export const EmptyQuery = object({});

export const KeyParams = object({
  keyspace: Type.String(),
  key: Type.String({ description: 'percent-encoded: todos%2F1' }),
});
export const KeyspaceParams = object({ keyspace: Type.String() });
export const TxParams = object({ id: Type.String({ description: 'as POST /v1/transactions gave it' }) });

/** A value in an answer: a document in its normal form, or bytes. */
const ValueFields = {
  timestamp: Type.Integer({ description: 'commit timestamp' }),
  value: Type.Optional(Type.Unknown()),
  bytes: Type.Optional(Type.String({ description: 'base64, for a binary value' })),
};
export const ReadAnswer = named('ReadAnswer', {
  snapshot: Type.Optional(TimestampSchema),
  values: Type.Array(Nullable(named('StoredValue', ValueFields)), {
    description: 'one for each key, in order; null where the snapshot has no value',
  }),
});
export const ListAnswer = named('ListAnswer', {
  snapshot: TimestampSchema,
  entries: Type.Array(named('Entry', { key: Type.String(), ...ValueFields })),
  cursor: Type.Union([Type.String(), Type.Null()], { description: 'for the next page; null after the last one' }),
});
export const CommitAnswer = named('CommitAnswer', { transaction: Type.String(), timestamp: TimestampSchema });
export const ClaimAnswer = named('ClaimAnswer', {
  ...CommitAnswer.properties,
  won: Type.Boolean({ description: 'whether this claim made the document' }),
  value: Type.Optional(Type.Unknown({ description: 'the document of the claim that won' })),
  bytes: Type.Optional(Type.String({ description: 'base64, where the key holds a binary value' })),
});
export const StartAnswer = named('OpenTransaction', {
  id: Type.String(),
  snapshot: TimestampSchema,
  expiresAt: Type.String({ format: 'date-time' }),
});
export const StatusQuery = object({
  sentAfter: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: TIMESTAMP.maximum,
      description: 'a timestamp from before the commit was sent: distinguishes *forgotten* from *unknown*',
    }),
  ),
});
const STATES = {
  open: 'opened, and not committed yet',
  pending: 'prepared: its participants will decide it',
  committed: 'durable, at `timestamp`',
  aborted: 'nothing of it was written, and nothing will be unless a client repeats its commit',
  unknown: 'no node that answers has its outcome; it may still arrive',
  forgotten:
    'its outcome is older than those that are kept, or went with a disk: a repeated commit is refused with OUTCOME_FORGOTTEN or OUTCOME_LOST',
  lost: 'a lost disk took a part of it, and no attempt took effect: the rest was taken back, or is reported',
} satisfies Record<TxState, string>;
export const StatusAnswer = named('TransactionStatus', {
  id: Type.String(),
  status: Type.Union(Object.entries(STATES).map(([state, description]) => Type.Literal(state, { description }))),
  timestamp: NullableTimestamp,
});
/** Stable time in the status: `Stability`. */
const HeldBackSchema = named('HeldBack', {
  region: Type.String(),
  node: Nullable(Type.String()),
  partition: Nullable(Type.String()),
});
const FreshnessFields = {
  stalenessMs: Type.Integer({ description: 'age of the stable snapshot' }),
  stale: Type.Boolean({ description: 'whether that is above `stalenessAlertMs` of the cluster file' }),
  heldBackBy: Nullable(HeldBackSchema, 'while stale: whose writes are missing, by the data of this node'),
};
const StabilitySchema = named(
  'Stability',
  {
    ust: TimestampSchema,
    alertMs: Type.Integer({ description: '`stalenessAlertMs` of the cluster file' }),
    ...FreshnessFields,
    lowest: Nullable(
      object({
        region: Type.String({ description: 'source region of the entry' }),
        node: Nullable(Type.String()),
        partition: Type.String({ description: 'the replica of this node that has the entry' }),
        timestamp: TimestampSchema,
        ageMs: Type.Integer(),
      }),
      'lowest entry of the version vectors that this node holds',
    ),
  },
  'stable time on this node',
);
export const ClockAnswer = named('Clock', {
  ust: TimestampSchema,
  hlc: TimestampSchema,
  now: Type.Integer({ description: 'wall clock, ms since 1970' }),
  ...FreshnessFields,
});
export const StableAnswer = named('StableTime', {
  ust: Type.Integer({ ...TIMESTAMP, description: 'a time that every node of every region serves' }),
});
const CHECKS = READINESS_CHECKS.join('|');
export const ReadyQuery = object({
  exclude: Type.Optional(
    Type.String({
      pattern: `^(${CHECKS})(,(${CHECKS}))*$`,
      description: `checks to leave out, with commas between them: ${READINESS_CHECKS.join(', ')}`,
    }),
  ),
});
export const HealthAnswer = named('Health', { status: Type.String() });
export const LossesQuery = object({
  all: Type.Optional(Type.Boolean({ default: false, description: 'also those that are acknowledged' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, default: 1000 })),
});
const LossSchema = named('Loss', {
  transaction: Type.String(),
  timestamp: Type.Integer({ description: 'commit timestamp; highest proposal where it is not `committed`' }),
  time: Type.String({ format: 'date-time', description: 'the same as a time' }),
  attempt: Type.Integer(),
  committed: Type.Boolean({
    description: 'a node that is left had committed it; else it may have been acknowledged or not',
  }),
  takenBack: Type.Boolean({ description: 'the remaining part was removed: none of its writes is visible' }),
  node: Type.String({ description: 'whose disk was lost' }),
  partitions: Type.Array(Type.String(), { description: 'where its writes are gone' }),
  keys: Type.Array(KeyRef, { description: 'its keys, as far as the remaining nodes have them' }),
  acknowledged: Type.Boolean({ description: 'by an operator' }),
});
export const LossesAnswer = named('Losses', {
  node: Type.String({ description: 'the node that answers' }),
  open: Type.Integer({ description: 'losses that are not acknowledged' }),
  losses: Type.Array(LossSchema),
});
/** Exactly one of the two fields. */
export const AcknowledgeBody = named('AcknowledgeRequest', {
  transactions: Type.Optional(Type.Array(Type.String({ maxLength: 128 }), { minItems: 1, maxItems: 10_000 })),
  all: Type.Optional(Type.Literal(true)),
});
export const AcknowledgeAnswer = named('AcknowledgeAnswer', {
  node: Type.String({ description: 'the node that answers' }),
  acknowledged: Type.Integer({ description: 'how many were open' }),
  open: Type.Integer({ description: 'how many are left' }),
});
/** Whether the peers have confirmed that a node's disk was not rolled back. */
const VerificationSchema = named('Verification', {
  state: Type.Union([
    Type.Literal('verifying', {
      description: 'the node takes no writes until a peer replica of each partition has reported',
    }),
    Type.Literal('verified', { description: 'every peer replica has reported: the disk was not rolled back' }),
    Type.Literal('unverified', { description: 'the node goes on without the reports of the nodes in `missing`' }),
  ]),
  missing: Type.Array(Type.String(), { description: 'nodes whose reports are missing' }),
  timedOut: Type.Boolean({
    description: 'no peer replica of some partition reported within `verifyTimeoutMs` of the cluster file',
  }),
});
/** The status of a node grows new fields: only those that a client relies on are named. */
export const ClusterAnswer = Type.Object(
  {
    cluster: Type.String(),
    protocol: Type.String(),
    hash: Type.String(),
    capabilities: Type.Array(Type.String(), {
      description: 'operations of the protocol; others are refused with NOT_SUPPORTED_BY_PROTOCOL',
      examples: [
        ['transactions', 'list', 'stable', 'chained-commits', 'snapshots', 'read-past', 'stable-snapshots', 'updates'],
      ],
    }),
    regions: Type.Array(
      object({ id: Type.String(), nodes: Type.Array(object({ id: Type.String(), api: Type.String() })) }),
    ),
    keyspaces: Type.Array(Type.Object({ name: Type.String(), partitions: Type.Integer() })),
    settings: Type.Object({}, { description: 'settings of the cluster file' }),
    stability: StabilitySchema,
    unready: Type.Array(object({ check: Type.String(), reason: Type.String() }), {
      description: 'reasons why the node that answers is not ready',
    }),
    losses: object(
      { open: Type.Integer(), newest: Type.Array(LossSchema) },
      'transactions of which a lost disk took a part, and that are not acknowledged; /v1/losses has all of them',
    ),
    node: Type.Object(
      { node: Type.String(), region: Type.String(), verification: VerificationSchema },
      { description: 'status of the node that answers' },
    ),
  },
  { [COMPONENT]: 'Cluster' },
);

export const ProblemSchema = named(
  'Problem',
  {
    type: Type.String({
      description: 'path of a page of this node about the code',
      examples: ['/errors/KEY_NOT_FOUND'],
    }),
    title: Type.String(),
    status: Type.Integer(),
    code: Type.Union(
      Object.keys(ERROR_CODES).map((code) => Type.Literal(code)),
      { [COMPONENT]: 'ErrorCode', description: 'stable: programs match on it' },
    ),
    detail: Type.String(),
    retryable: Type.Boolean({ description: 'whether the same request may succeed later' }),
    transaction: Type.Optional(
      Type.String({
        description:
          'of a write that may have taken effect: repeat it with this as Idempotency-Key, or ask for it at /v1/transactions/:id',
      }),
    ),
  },
  'RFC 9457 problem document',
);
