/** The web pages that may call the API, and the host names under which it may be called. */
import { IsochronError } from '@isochron/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the request opens a WebSocket for a page that may not call: it is closed before any frame. */
    isOfRefusedPage: boolean;
  }
}

const EXPOSED_HEADERS = [
  'ETag',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Isochron-Session',
  'Isochron-Snapshot',
  'Isochron-Staleness-Ms',
  'Isochron-Commit-Timestamp',
  'Isochron-Session-Gap',
  'Location',
];
const EXPOSED = EXPOSED_HEADERS.join(', ');
const NO_HEADERS = {};
const METHODS = 'GET, HEAD, PUT, PATCH, POST, DELETE';
/** How long a browser may keep the answer to a preflight, s. */
const MAX_AGE_S = 86_400;
/** All origins, or all hosts. */
const ANY = '*';

/** The headers that name the page and the server. */
export interface CallerHeaders {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
}

export interface OriginOptions {
  /** Whether callers need a key. */
  readonly keyed: boolean;
  /**
   * Origins of web pages that may call, such as `https://app.example`; `*` for all. Default: with keys all, without
   * keys none.
   */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Names under which the API may be called; `*` for all. Default: with keys all, without keys none. */
  readonly allowHosts?: readonly string[] | undefined;
}

/**
 * Without keys, every program that reaches the API may use it, also a web page in a browser on the same machine. So
 * only loopback names and those that the operator lists pass then, as `Origin` and as `Host` (a page whose name was
 * bound to a loopback address sends its own name as `Host`). With keys, all pages and names pass unless the operator
 * lists some: a browser adds no key by itself.
 */
export class Origins {
  readonly #origins: ReadonlySet<string>;
  readonly #hosts: ReadonlySet<string>;
  readonly #keyed: boolean;
  /** The host that was allowed last: most callers name the same. */
  #allowedHost: string | undefined;

  constructor({ keyed, corsOrigins, allowHosts }: OriginOptions) {
    const listed = (list: readonly string[] = []) => (keyed && list.length === 0 ? [ANY] : list);
    this.#keyed = keyed;
    this.#origins = new Set(listed(corsOrigins));
    this.#hosts = new Set(listed(allowHosts).map((name) => name.toLowerCase()));
  }

  /** Whether pages of every origin may call. */
  get any(): boolean {
    return this.#origins.has(ANY);
  }

  /**
   * @param isHealth whether load balancers ask, by whatever name of the node. Called where the answer decides
   * @throws IsochronError `HOST_NOT_ALLOWED`, `ORIGIN_NOT_ALLOWED`
   */
  check({ host, origin }: CallerHeaders, isHealth: () => boolean): void {
    if (host !== undefined && !this.#allowsHost(host) && !isHealth()) {
      throw new IsochronError(
        'HOST_NOT_ALLOWED',
        `This API is not served as ${quoted(host)}. Call it by a loopback name, or start the node with --allow-host.`,
      );
    }
    if (origin !== undefined && !this.#allowsOrigin(origin, isHealth() ? undefined : host)) {
      throw new IsochronError(
        'ORIGIN_NOT_ALLOWED',
        `Pages of ${quoted(origin)} may not call this API. Start the node with --cors-origin to let them.`,
      );
    }
  }

  /** The headers that let a page read its answer, whatever that is; none for other callers, and for foreign pages. */
  headersFor({ host, origin }: CallerHeaders): Readonly<Record<string, string>> {
    if (origin === undefined) return NO_HEADERS;
    const own = host !== undefined && this.#allowsHost(host) ? host : undefined;
    if (!this.#allowsOrigin(origin, own)) return NO_HEADERS;
    return {
      ...(this.any ? {} : { vary: 'Origin' }),
      'access-control-allow-origin': this.any ? ANY : origin,
      'access-control-expose-headers': EXPOSED,
    };
  }

  #allowsHost(host: string): boolean {
    if (host === this.#allowedHost || this.#hosts.has(ANY)) return true;
    const name = nameOf(`http://${host}`);
    const isAllowed = name !== undefined && ((!this.#keyed && isLoopback(name)) || this.#hosts.has(name));
    if (isAllowed) this.#allowedHost = host;
    return isAllowed;
  }

  #allowsOrigin(origin: string, host: string | undefined): boolean {
    if (this.any || this.#origins.has(origin)) return true;
    // A page of this server.
    if (host !== undefined && (origin === `http://${host}` || origin === `https://${host}`)) return true;
    const name = nameOf(origin);
    return !this.#keyed && name !== undefined && isLoopback(name);
  }
}

/** Whether a host name or address, IPv6 ones in brackets or not, leads to this machine only. */
export const isLoopback = (host: string): boolean =>
  /^(?:(?:[a-z0-9-]+\.)*localhost\.?|127(?:\.\d{1,3}){3}|\[::1\]|::1)$/i.test(host);

/** The name or address of an `http` or `https` URL, in lower case. */
const nameOf = (url: string): string | undefined =>
  /^https?:\/\/[^/?#@\\\s]+$/i.test(url) && URL.canParse(url) ? new URL(url).hostname : undefined;

const quoted = (text: string): string => JSON.stringify(text.slice(0, 100));

/**
 * Refuses callers that {@link Origins} does not allow, before any other check, answers preflights, and lets allowed
 * pages read all their answers, refusals among them.
 */
export function allowOrigins(app: FastifyInstance, origins: Origins): void {
  app.decorateRequest('isOfRefusedPage', false);
  app.addHook('onRequest', (request, reply, done) => {
    if (!admitted(origins, request, reply)) done();
  });
}

/**
 * The same for a request that has no route, as its URL is broken: `refused` answers it.
 */
export function refuseBrokenUrl(
  origins: Origins,
  request: FastifyRequest,
  reply: FastifyReply,
  refused: (error?: unknown) => void,
): void {
  try {
    if (!admitted(origins, request, reply)) refused();
  } catch (error) {
    refused(error);
  }
}

/** @returns whether the request was a preflight, which has been answered */
function admitted(origins: Origins, request: FastifyRequest, reply: FastifyReply): boolean {
  const { headers, method } = request;
  if (headers.origin !== undefined) reply.headers(origins.headersFor(headers));
  try {
    origins.check(headers, () => request.routeOptions.config?.isHealth === true);
  } catch (error) {
    // A browser does not show a page why an upgrade was refused, but it shows the close of a WebSocket.
    request.isOfRefusedPage = request.ws && error instanceof IsochronError && error.code === 'ORIGIN_NOT_ALLOWED';
    if (!request.isOfRefusedPage) throw error;
  }
  if (method !== 'OPTIONS') return false;
  if (headers.origin === undefined || headers['access-control-request-method'] === undefined) {
    const detail = 'OPTIONS is for preflights, which name their Origin and Access-Control-Request-Method.';
    throw new IsochronError('INVALID_REQUEST', detail);
  }
  const wanted = headers['access-control-request-headers'];
  reply.header('access-control-allow-methods', METHODS).header('access-control-max-age', MAX_AGE_S);
  if (wanted !== undefined) reply.header('access-control-allow-headers', wanted);
  reply.code(204).send();
  return true;
}
