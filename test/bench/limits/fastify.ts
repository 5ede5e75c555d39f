/** The bare limit of the HTTP routes: Fastify without hooks, schemas and work, with the same bytes and headers. */
import { fastify, type HTTPMethods } from 'fastify';
import { answerJobs } from '../jobs.js';

/** A route and its constant answer. */
export interface BareRoute {
  readonly method: HTTPMethods;
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Serves the routes; returns the port. */
export interface FastifyJob {
  readonly routes: readonly BareRoute[];
}

answerJobs<FastifyJob, number>(async ({ routes }) => {
  const app = fastify({ logger: false });
  for (const { method, url, status, headers, body } of routes) {
    app.route({ method, url, handler: (_request, reply) => reply.code(status).headers(headers).send(body) });
  }
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  return Number(new URL(address).port);
});
