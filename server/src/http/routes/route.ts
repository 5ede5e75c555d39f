/**
 * A route of the REST API is one declaration: its registration, its checks, its documentation and its refusal under
 * protocols without its capability are made of it.
 */
import { type ErrorCode, IsochronError } from '@isochron/core';
import type { Capability } from '@isochron/protocols';
import { type Access, type Offer, unsupported } from '@isochron/sessions';
import type { TSchema } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RunningNode } from '../../node/api.js';
import type { RouteContext, TransactionsContext } from '../context.js';
import type { AnswerDocs, RouteDocs } from '../documentation/openapi.js';
import { EmptyQuery } from '../documentation/schemas.js';

/** A route. `Context` is the part of the node that its handler gets. */
export interface Route<Context> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Another path of the route, which the OpenAPI document leaves out. */
  readonly alias?: string;
  /** Name of the operation in the OpenAPI document. */
  readonly id: string;
  readonly tag: 'keys' | 'transactions' | 'changes' | 'time' | 'operations';
  readonly summary: string;
  readonly description?: string;
  /** What the route does, and so the role that it needs; `health`: load balancers ask, without credentials. */
  readonly access: Access | 'health';
  /** What the protocol must offer. */
  readonly needs?: Capability;
  /**
   * Only reads the node's state, or continues work that began here: served before the node is ready and until it
   * closes.
   */
  readonly observes?: boolean;
  /** The query, which is checked. Without a schema no parameter is allowed. */
  readonly query?: TSchema;
  /** The JSON body, which is checked. */
  readonly body?: TSchema;
  /** A JSON body that may be absent: its handler checks it. */
  readonly optionalBody?: TSchema;
  /** The body is one stored value, which its handler gets as bytes: its content types. */
  readonly value?: Readonly<Record<string, TSchema>>;
  /** Parameters of the path, and headers: the rules check them. */
  readonly params?: TSchema;
  readonly headers?: TSchema;
  /** Answers by status, each with its caching and its other headers. */
  readonly answers: Readonly<Record<string, AnswerDocs>>;
  /** Codes with which the route refuses requests; `REQUEST_ERRORS` has the codes of every route. */
  readonly errors: readonly ErrorCode[];
  /** Whether GET has no HEAD beside it. */
  readonly noHead?: boolean;
  handle(context: Context, request: FastifyRequest, reply: FastifyReply): unknown;
}

/** A route that only protocols with its capability have. */
export interface TransactionsRoute extends Route<RouteContext<TransactionsContext>> {
  readonly needs: Capability;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body is one stored value: its size limit is the value's. */
    bodyIsValue?: boolean;
    /** See {@link Route}. */
    observes?: boolean;
    /** Whether load balancers ask it, by whatever name of the node. */
    isHealth?: boolean;
  }
}

/** Adds routes. A route that the node's protocol does not offer refuses all requests. */
export function addRoutes<Context>(
  scope: FastifyInstance,
  node: Pick<RunningNode, 'protocol' | 'config'>,
  context: Context,
  routes: readonly Route<Context>[],
): void {
  for (const route of routes) {
    const { needs, value } = route;
    if (needs !== undefined && !node.protocol.capabilities.has(needs)) refuseRoute(scope, node.protocol, route, needs);
    else if (value === undefined) add(scope, context, route);
    else
      scope.register(async (inner) => {
        takeValues(inner, route.method, Object.keys(value));
        add(inner, context, route, node.config.settings.limits.maxValueBytes);
      });
  }
}

/** Adds a route that refuses all requests: the protocol has no such capability. */
export function refuseRoute(
  scope: FastifyInstance,
  protocol: Offer,
  { method, path: url }: Pick<Route<never>, 'method' | 'path'>,
  needed: Capability,
): void {
  const handler = () => {
    throw unsupported(protocol, needed, `${method} ${url}`);
  };
  // Whatever the caller may do: nothing is done.
  scope.route({ method, url, schema: { hide: true }, config: { access: 'any' }, handler });
}

function add<Context>(scope: FastifyInstance, context: Context, route: Route<Context>, bodyLimit?: number): void {
  const { method, path, alias, access, query = EmptyQuery, body, observes = false, noHead = false } = route;
  const docs = docsOf(route);
  const shared = {
    method,
    handler: (request: FastifyRequest, reply: FastifyReply) => route.handle(context, request, reply),
    config: {
      docs,
      observes,
      bodyIsValue: route.value !== undefined,
      ...(access === 'health' ? { isHealth: true } : { access }),
    },
    ...(noHead ? { exposeHeadRoute: false } : {}),
    ...(bodyLimit === undefined ? {} : { bodyLimit }),
  };
  const schema = {
    tags: [route.tag],
    operationId: route.id,
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(access === 'health' ? { security: [] } : {}),
    querystring: query,
    ...(body === undefined ? {} : { body }),
  };
  scope.route({ ...shared, url: path, schema });
  if (alias !== undefined) scope.route({ ...shared, url: alias, schema: { ...schema, hide: true } });
}

function docsOf({ params, headers, optionalBody, value, answers, errors }: Route<never>): RouteDocs {
  const types = optionalBody === undefined ? value : { 'application/json': optionalBody };
  const content = types && Object.fromEntries(Object.entries(types).map(([type, schema]) => [type, { schema }]));
  return {
    ...(params === undefined ? {} : { params }),
    ...(headers === undefined ? {} : { headers }),
    ...(content === undefined ? {} : { body: { content } }),
    optionalBody: optionalBody !== undefined,
    response: answers,
    errors,
  };
}

/** Bodies are bytes: the rules check them, and give the text to store. */
function takeValues(scope: FastifyInstance, method: string, types: readonly string[]): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser([...types], { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  const named = types.length < 2 ? types[0] : `${types.slice(0, -1).join(', ')} or ${types.at(-1)}`;
  scope.addContentTypeParser('*', (_request, _payload, done) =>
    done(new IsochronError('UNSUPPORTED_MEDIA_TYPE', `${method} takes ${named}.`)),
  );
}
