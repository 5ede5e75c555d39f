/** The web pages that may call the API, and the host names under which it may be called. */
import cors from '@fastify/cors';
import { IsochronError } from '@isochron/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

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
/** All origins, or all hosts. */
const ANY = '*';

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

  /** @throws IsochronError `HOST_NOT_ALLOWED`, `ORIGIN_NOT_ALLOWED` */
  check({ host, origin }: { readonly host?: string | undefined; readonly origin?: string | undefined }): void {
    if (host !== undefined && !this.#allowsHost(host)) {
      throw new IsochronError(
        'HOST_NOT_ALLOWED',
        `This API is not served as ${quoted(host)}. Call it by a loopback name, or start the node with --allow-host.`,
      );
    }
    if (origin !== undefined && !this.#allowsOrigin(origin, host)) {
      throw new IsochronError(
        'ORIGIN_NOT_ALLOWED',
        `Pages of ${quoted(origin)} may not call this API. Start the node with --cors-origin to let them.`,
      );
    }
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
 * Refuses callers that {@link Origins} does not allow, before any other check, and lets allowed pages read their
 * answers. The plugin answers preflights only: it would put its headers on every answer, also on those to callers that
 * are not web pages, which costs a tenth of a small read.
 */
export async function allowOrigins(app: FastifyInstance, origins: Origins): Promise<void> {
  app.addHook('onRequest', (request, reply, done) => {
    origins.check(request.headers);
    if (request.headers.origin !== undefined && request.method !== 'OPTIONS') allow(request, reply, origins);
    done();
  });
  await app.register(async (scope) => {
    const methods = ['GET', 'HEAD', 'PUT', 'PATCH', 'POST', 'DELETE'];
    scope.addHook('onRequest', refuseWithoutOrigin);
    const origin = origins.any ? ANY : true;
    await scope.register(cors, { origin, methods, exposedHeaders: EXPOSED_HEADERS, maxAge: 86_400 });
  });
}

/** The plugin's own refusal is plain text. */
function refuseWithoutOrigin({ headers }: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  const whole = headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
  const detail = 'OPTIONS is for preflights, which name their Origin and Access-Control-Request-Method.';
  if (whole) done();
  else done(new IsochronError('INVALID_REQUEST', detail));
}

function allow(request: FastifyRequest, reply: FastifyReply, { any }: Origins): void {
  if (!any) reply.header('vary', 'Origin');
  reply.header('access-control-allow-origin', any ? ANY : (request.headers.origin ?? ''));
  reply.header('access-control-expose-headers', EXPOSED);
}
