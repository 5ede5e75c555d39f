import { IsochronError } from '@isochron/core';
import type { FastifyInstance } from 'fastify';
import { sendProblem } from './problem.js';

/**
 * Stores every route, so that a wrong method and a wrong path are distinguished. Has to be called before routes are
 * added.
 */
export function handleNotFound(app: FastifyInstance): void {
  const methods = new Map<string, { pattern: RegExp; methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    const entry = methods.get(url) ?? { pattern: patternOf(url), methods: new Set<string>() };
    for (const name of [method].flat()) entry.methods.add(name);
    methods.set(url, entry);
  });
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0]!;
    const allowed = new Set<string>();
    for (const entry of methods.values()) {
      if (entry.pattern.test(path)) for (const name of entry.methods) allowed.add(name);
    }
    if (allowed.size === 0 || allowed.has(request.method)) {
      sendProblem(
        reply,
        new IsochronError('ROUTE_NOT_FOUND', 'There is no such route. /openapi.json lists them all.'),
        app.log,
      );
      return;
    }
    const allow = [...allowed].join(', ');
    reply.header('allow', allow);
    sendProblem(reply, new IsochronError('METHOD_NOT_ALLOWED', `This route has ${allow}.`), app.log);
  });
}

function patternOf(url: string): RegExp {
  const escaped = url
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replace(/:[a-zA-Z]+/g, '[^/]+')
    .replace('*', '.*');
  return new RegExp(`^${escaped}$`);
}
