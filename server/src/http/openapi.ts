/** OpenAPI 3.1 from the schemas that validate. What a route documents beyond them stands in its `config.docs`. */
import swagger from '@fastify/swagger';
import { type TSchema, Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify';
import { ProblemSchema } from './schemas.js';

/** What a route documents but checks by hand: raw bodies, headers and parameters on hot paths. */
export interface RouteDocs {
  readonly params?: TSchema;
  readonly headers?: TSchema;
  readonly body?: { readonly content: Readonly<Record<string, { readonly schema: TSchema }>> };
  /** Answers by status. */
  readonly response?: Readonly<Record<string, object>>;
  readonly consumes?: readonly string[];
}

declare module 'fastify' {
  interface FastifyContextConfig {
    docs?: RouteDocs;
    /** The body is one stored value: its size limit is the value's. */
    bodyIsValue?: boolean;
    /** Looks at the node only, or goes on with what was begun here: served before the node is ready and until it closes. */
    observes?: boolean;
  }
}

/** A JSON answer. */
export const json = (schema: TSchema, description: string): object => ({
  description,
  headers: ANSWER_HEADERS,
  content: { 'application/json': { schema } },
});

/** Headers of answers that belong to a session. */
const ANSWER_HEADERS = {
  'Isochron-Session': { schema: { type: 'string' }, description: 'the new session token' },
  'Isochron-Snapshot': { schema: { type: 'integer' }, description: 'the snapshot that was read' },
  'Isochron-Staleness-Ms': { schema: { type: 'integer' }, description: 'its age' },
};

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
        'any text of the caller, such as a UUID, or the id of a write as a problem document has it: repeating the request with it, in the same region, writes once',
      examples: ['f3f1a9d0-6f2c-4b57-9c1e-0a4b8f1f3a55'],
    }),
  ),
});

const problem = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: ProblemSchema } },
});
const PROBLEMS = { '4XX': problem('the request is refused'), '5XX': problem('the server cannot answer') };

export async function registerOpenApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Isochron',
        version: '1',
        description:
          'Geo-replicated transactional key-value and document store. Reads see one causally consistent snapshot and never wait.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: { securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } } },
      tags: ['keys', 'transactions', 'time', 'operations'].map((name) => ({ name })),
    },
    transform: ({ schema, url, route }) => ({ schema: documented(schema, route), url }),
  });
}

function documented(schema: FastifySchema | undefined, route: RouteOptions): FastifySchema {
  const { response, ...docs } = route.config?.docs ?? {};
  return { ...schema, ...docs, response: { ...PROBLEMS, ...response } };
}
