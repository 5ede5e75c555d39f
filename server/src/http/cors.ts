/** Calls from web pages of other origins. Credentials are never taken from cookies, so by default every origin may call. */
import cors from '@fastify/cors';
import { IsochronError } from '@isochron/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const EXPOSED_HEADERS = [
  'ETag',
  'Isochron-Session',
  'Isochron-Snapshot',
  'Isochron-Staleness-Ms',
  'Isochron-Commit-Timestamp',
  'Isochron-Session-Gap',
  'Location',
];
const EXPOSED = EXPOSED_HEADERS.join(', ');

/**
 * The plugin answers preflights only. It would put its headers on every answer, also on those to callers that are no web page: that
 * costs a tenth of a small read.
 * @param origins `*`, or the origins that may call
 */
export async function allowOrigins(app: FastifyInstance, origins: string | readonly string[]): Promise<void> {
  const list = origins === '*' ? undefined : [origins].flat();
  await app.register(async (scope) => {
    const methods = ['GET', 'HEAD', 'PUT', 'PATCH', 'POST', 'DELETE'];
    scope.addHook('onRequest', refuseWithoutOrigin);
    await scope.register(cors, { origin: list ?? '*', methods, exposedHeaders: EXPOSED_HEADERS, maxAge: 86_400 });
  });
  app.addHook('onRequest', (request, reply, done) => {
    if (request.headers.origin !== undefined && request.method !== 'OPTIONS') allow(request, reply, list);
    done();
  });
}

/** The plugin's own refusal is plain text. */
function refuseWithoutOrigin({ headers }: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  const whole = headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
  const detail = 'OPTIONS is for preflights, which name their Origin and Access-Control-Request-Method.';
  if (whole) done();
  else done(new IsochronError('INVALID_REQUEST', detail));
}

function allow(request: FastifyRequest, reply: FastifyReply, list: readonly string[] | undefined): void {
  const origin = request.headers.origin ?? '';
  if (list !== undefined) reply.header('vary', 'Origin');
  if (list !== undefined && !list.includes(origin)) return;
  reply.header('access-control-allow-origin', list === undefined ? '*' : origin);
  reply.header('access-control-expose-headers', EXPOSED);
}
