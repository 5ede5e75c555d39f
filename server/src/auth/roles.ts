/** Roles of callers on HTTP routes. */
import { type Access, requireRole } from '@isochron/sessions';
import type { FastifyInstance } from 'fastify';
import type { ApiContext } from '../http/context.js';
import { addToRoute } from '../http/route-hooks.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route does, and so the role that it needs. */
    access?: Access;
  }
}

/** Refuses requests of callers without the role of the route. A route of this scope that declares none is a mistake. */
export function requireRoles(app: FastifyInstance, api: ApiContext): void {
  app.addHook('onRoute', (route) => {
    const access = route.config?.access;
    if (access === undefined) throw new Error(`the route ${route.url} does not declare its access`);
    addToRoute(route, 'onRequest', (request, _reply, done) => {
      requireRole(api.principal(request), access);
      done();
    });
  });
}
