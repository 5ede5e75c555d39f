/** OpenAPI 3.1 from the schemas that validate. `config.docs` of a route documents what they do not cover. */
import swagger from '@fastify/swagger';
import { type ErrorCode, HTTP_STATUS } from '@isochron/core';
import { type TSchema, Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify';
import { NOT_STORED, REVALIDATED } from '../caching/read-headers.js';
import { REQUEST_ERRORS } from '../routes/route-errors.js';
import { withComponents } from './components.js';
import { ProblemSchema } from './schemas.js';

/** Parts of a route that are documented here and checked by hand: raw bodies, headers and parameters on hot paths. */
export interface RouteDocs {
  readonly params?: TSchema;
  readonly headers?: TSchema;
  readonly body?: { readonly content: Readonly<Record<string, { readonly schema: TSchema }>> };
  /** Answers by status. */
  readonly response?: Readonly<Record<string, AnswerDocs>>;
  /** Codes of its own errors. */
  readonly errors?: readonly ErrorCode[];
  /** Whether the body of a request is optional. */
  readonly optionalBody?: boolean;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    docs?: RouteDocs;
  }
}

/** An answer of a route: its description, its headers and the shape of its body. */
export interface AnswerDocs {
  readonly description: string;
  readonly headers?: AnswerHeaders;
  /** Without a body. */
  readonly type?: 'null';
  readonly content?: Readonly<Record<string, { readonly schema: TSchema }>>;
}

/** An answer of one of several content types, with headers of its own. */
export const contents = (
  types: Readonly<Record<string, TSchema>>,
  description: string,
  headers: AnswerHeaders = {},
): AnswerDocs => ({
  description,
  headers,
  content: Object.fromEntries(Object.entries(types).map(([type, schema]) => [type, { schema }])),
});

/** A JSON answer, with headers of its own. */
export const json = (schema: TSchema, description: string, headers?: AnswerHeaders): AnswerDocs =>
  contents({ 'application/json': schema }, description, headers);

/** A header of an answer. */
export interface AnswerHeader {
  readonly type: string;
  readonly description: string;
  /** The values that it has. */
  readonly enum?: readonly string[];
}

/** Headers of an answer by name. */
export type AnswerHeaders = Readonly<Record<string, AnswerHeader>>;

const SESSION = {
  'Isochron-Session': { type: 'string', description: 'the session token, for the next request' },
} satisfies AnswerHeaders;
/** The header that states whether caches may keep an answer: it has one of these values. */
export const caching = (...values: string[]) => ({
  'Cache-Control': {
    type: 'string',
    description: 'whether caches may keep it: none does so without asking again',
    enum: values,
  },
});
const COMMITTED = {
  'Isochron-Commit-Timestamp': { type: 'integer', description: 'commit timestamp of the value or the write' },
} satisfies AnswerHeaders;
/** Headers of reads in a session. */
export const READ_HEADERS = {
  ...SESSION,
  'Isochron-Snapshot': { type: 'integer', description: 'timestamp of the snapshot that was read, where it has one' },
  'Isochron-Staleness-Ms': { type: 'integer', description: 'its age in milliseconds' },
  ...caching(REVALIDATED),
  Vary: { type: 'string', description: 'request headers that the answer depends on' },
} satisfies AnswerHeaders;
/** Headers of the value of one key. */
export const VALUE_HEADERS = {
  ...READ_HEADERS,
  ...COMMITTED,
  ETag: { type: 'string', description: 'of the value, for If-None-Match; absent for an own write that is not stable' },
} satisfies AnswerHeaders;
/** Headers of the answer to a commit. */
export const WRITE_HEADERS = { ...SESSION, ...COMMITTED } satisfies AnswerHeaders;
/** Headers of answers to a client that has used more than half of its share of a second. */
const QUOTA_HEADERS = {
  RateLimit: { type: 'string', description: 'requests that are left, and the seconds until all are there again' },
  'RateLimit-Policy': { type: 'string', description: 'requests and bytes that a client may use in a second' },
} satisfies AnswerHeaders;
/** Headers of answers outside sessions. */
export const PLAIN_HEADERS = caching(NOT_STORED);

/** Headers that session requests may carry. */
export const SessionHeaders = Type.Object({
  'isochron-session': Type.Optional(Type.String({ maxLength: 1024, description: 'session token of the last answer' })),
  prefer: Type.Optional(
    Type.String({
      description: 'wait=SECONDS, 0 to 30: how long a read may wait for own writes',
      examples: ['wait=2'],
    }),
  ),
});

/** Headers that writes may carry. */
export const WriteHeaders = Type.Object({
  ...SessionHeaders.properties,
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'any text of the caller, such as a UUID, or the id of a write as a problem document has it: repeating the ' +
        'request with it, in any region, writes once. A text that begins with the name of a region and a colon is ' +
        'decided in that region, any other one in a region that its text selects',
      examples: ['virginia:f3f1a9d0-6f2c-4b57-9c1e-0a4b8f1f3a55'],
    }),
  ),
});

const problem = (description: string, headers: AnswerHeaders) => ({
  description,
  headers: { ...headers, ...caching(NOT_STORED) },
  content: { 'application/problem+json': { schema: ProblemSchema } },
});
/** The problem documents of an operation, with its own codes. */
const problemsOf = (errors: readonly ErrorCode[]) => ({
  '4XX': problem(withCodes('the request is refused', errors, false), {
    ...READ_HEADERS,
    Allow: { type: 'string', description: 'of 405: methods of the path' },
    'WWW-Authenticate': { type: 'string', description: 'of 401: how to authenticate' },
    'Isochron-Session-Gap': { type: 'string', description: 'of SESSION_GAP: true' },
    'Retry-After': { type: 'integer', description: 'of 429: seconds to wait before the next try' },
    ...QUOTA_HEADERS,
  }),
  '5XX': problem(withCodes('the server cannot answer', errors, true), {
    'Retry-After': { type: 'integer', description: 'of 503: seconds to wait before the next try' },
  }),
});
function withCodes(what: string, errors: readonly ErrorCode[], ofServer: boolean): string {
  const codes = [...new Set(errors)].filter((code) => HTTP_STATUS[code] >= 500 === ofServer);
  return codes.length === 0 ? what : `${what}: ${codes.map((code) => `\`${code}\``).join(', ')}`;
}
const CREDENTIALS_NOTE =
  'An API key, or a token (JWT) of an issuer that the node accepts. Without `--auth` and `ISOCHRON_API_KEYS`, the node ' +
  'asks for none.';
/** The route requires a key where the node does. */
const KEYED = [{ apiKey: [] }];
const OPEN = [{ apiKey: [] }, {}];

export async function registerOpenApi(app: FastifyInstance, keyed: boolean): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Isochron',
        version: '1',
        description:
          'Geo-replicated transactional key-value and document store. Reads see one causally consistent snapshot and ' +
          `never wait. Errors that any operation may have: ${REQUEST_ERRORS.map((code) => `\`${code}\``).join(', ')}.`,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: { securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: CREDENTIALS_NOTE } } },
      security: keyed ? KEYED : OPEN,
      tags: ['keys', 'transactions', 'changes', 'time', 'operations'].map((name) => ({ name })),
    },
    transform: ({ schema, url, route }) => ({ schema: documented(schema, route), url }),
    transformObject: (document) =>
      'openapiObject' in document ? withComponents(withOptionalBodies(document.openapiObject)) : {},
  });
}

function documented(schema: FastifySchema | undefined, route: RouteOptions): FastifySchema {
  const { response, errors = [], optionalBody = false, ...docs } = route.config?.docs ?? {};
  const marked = optionalBody ? { [OPTIONAL_BODY]: true } : {};
  return { ...schema, ...docs, ...marked, response: { ...problemsOf(errors), ...response } };
}

/** Marks an operation whose body is optional: the plugin declares every body as required. */
const OPTIONAL_BODY = 'x-optional-body';

function withOptionalBodies<D extends { readonly paths?: object }>(document: D): D {
  const operations: Operation[] = Object.values(document.paths ?? {}).flatMap((path) => Object.values(path));
  for (const operation of operations) {
    if (operation[OPTIONAL_BODY] !== true || operation.requestBody === undefined) continue;
    delete operation[OPTIONAL_BODY];
    operation.requestBody.required = false;
  }
  return document;
}

interface Operation {
  [OPTIONAL_BODY]?: boolean;
  readonly requestBody?: { required: boolean };
}
