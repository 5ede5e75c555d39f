/** Shapes that several routes have: they validate, type and document the HTTP API. */
import { ERROR_CODES, type Operation } from '@isochron/core';
import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { COMPONENT } from './components.js';

const strict = { additionalProperties: false } as const;
/** An object without further fields. */
export const object = <P extends TProperties>(properties: P, description?: string): TObject<P> =>
  Type.Object(properties, description === undefined ? strict : { ...strict, description });
/** An object that is a component of the OpenAPI document, under this name. */
export const named = <P extends TProperties>(name: string, properties: P, description?: string): TObject<P> =>
  Type.Object(properties, { ...strict, [COMPONENT]: name, ...(description === undefined ? {} : { description }) });

/** The bounds of a timestamp. */
export const TIMESTAMP = { minimum: 0, maximum: 2 ** 53 - 2 ** 40, examples: [195_387_383_808_000] };
export const TimestampSchema = Type.Integer({
  ...TIMESTAMP,
  [COMPONENT]: 'Timestamp',
  description: 'Hybrid logical timestamp: (ms since 2025-01-01T00:00Z) × 4096 + logical part',
});
export const AtSchema = Type.Integer({
  ...TIMESTAMP,
  description: 'the snapshot to read; default the newest stable one',
});
/** A schema, or null. */
export const Nullable = <T extends TSchema>(schema: T, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

/** No bounds here: the rules refuse bad names and keys with codes of their own. */
export const KeyRef = named('KeyRef', {
  keyspace: Type.String({ examples: ['default'] }),
  key: Type.String({ examples: ['todos/1'] }),
});

/** Body of the reads. */
export const ReadBody = named('ReadRequest', {
  keys: Type.Array(KeyRef, { description: 'at most `maxKeysPerRequest`; answered in this order' }),
  at: Type.Optional(AtSchema),
});
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

export const EmptyQuery = object({});

export const KeyParams = object({
  keyspace: Type.String(),
  key: Type.String({ description: 'percent-encoded: todos%2F1' }),
});
/** A value in an answer: a document in its normal form, or bytes. */
export const ValueFields = {
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
export const CommitAnswer = named('CommitAnswer', { transaction: Type.String(), timestamp: TimestampSchema });

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
