/** The audit of requests over HTTP. */
import type { Principal } from '@isochron/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { addToRoute } from '../http/route-hooks.js';
import type { Audit } from './audit.js';

/** Who asked for what, without its contents. */
export const auditedOf = (
  request: FastifyRequest,
): { readonly principal: Principal | undefined; readonly address: string; readonly request: string } => ({
  principal: request.principal ?? undefined,
  address: request.ip,
  request: `${request.method} ${request.routeOptions.url ?? 'unknown'}`,
});

/** Records what operators do: every request of a route that only they may use, with the status of its answer. */
export function auditOperators(app: FastifyInstance, audit: Audit): void {
  app.addHook('onRoute', (route) => {
    if (route.config?.access !== 'operate') return;
    addToRoute(route, 'onResponse', (request, reply, done) => {
      const { principal } = request;
      if (principal !== null)
        audit.operated({ ...auditedOf(request), principal, status: reply.statusCode, asked: request.body });
      done();
    });
  });
}
