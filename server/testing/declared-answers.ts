/** Holds the answers of the REST API to what its routes declare: statuses, headers, caching and error codes. */
import type { IncomingHttpHeaders } from 'node:http';
import type { AnswerHeader } from '../src/http/documentation/openapi.js';
import { COMMON_ROUTES, TRANSACTIONS_ROUTES } from '../src/http/routes/catalogue.js';
import type { Route } from '../src/http/routes/route.js';
import { REQUEST_ERRORS } from '../src/http/routes/route-errors.js';
import { HEALTH_ROUTES } from '../src/http/routes/status.js';

/** The part of a declaration that does not depend on what its handler gets. */
export type Declaration = Omit<Route<never>, 'handle'>;

/** All routes that the OpenAPI document may list. */
export const DECLARATIONS: readonly Declaration[] = [...COMMON_ROUTES, ...TRANSACTIONS_ROUTES, ...HEALTH_ROUTES];

/** Headers that any answer may have. */
const ANY =
  /^(allow|connection|content-length|content-type|date|keep-alive|transfer-encoding|vary|ratelimit.*|access-.*)$/;

/** The part of an answer that is compared. */
interface ComparedAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  json(): Record<string, unknown>;
}

/** How an answer differs from the declaration of its route; undefined where it does not, or no route has the path. */
export function undeclared(method: string, path: string, answer: ComparedAnswer): string | undefined {
  const route = declarationOf(method, path.split('?')[0]!);
  if (route === undefined) return undefined;
  const { status, headers } = answer;
  const declared = route.answers[status];
  if (declared !== undefined) return differentHeaders(declared.headers ?? {}, headers);
  if (!String(headers['content-type']).startsWith('application/problem+json')) return `the status ${status}`;
  // An answer to HEAD has no body.
  if (method === 'HEAD') return undefined;
  const { code } = answer.json();
  return [...REQUEST_ERRORS, ...route.errors].some((known) => known === code) ? undefined : `the code ${code}`;
}

function declarationOf(method: string, path: string): Declaration | undefined {
  const asked = method === 'HEAD' ? 'GET' : method;
  return DECLARATIONS.find(
    (route) => route.method === asked && [route.path, route.alias].some((url) => url !== undefined && fits(url, path)),
  );
}

const fits = (url: string, path: string): boolean =>
  new RegExp(`^${url.replace(/:\w+/g, '[^/]+').replace('*', '.*')}$`).test(path);

function differentHeaders(
  declared: Readonly<Record<string, AnswerHeader>>,
  headers: IncomingHttpHeaders,
): string | undefined {
  const known = new Map(Object.entries(declared).map(([name, header]) => [name.toLowerCase(), header]));
  const caching: readonly (string | undefined)[] = known.get('cache-control')?.enum ?? [undefined];
  if (!caching.includes(headers['cache-control'])) return `cache-control: ${headers['cache-control']}`;
  return Object.keys(headers).find((name) => !known.has(name) && !ANY.test(name));
}
