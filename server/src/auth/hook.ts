/** Callers of HTTP routes: identified before the route begins. */
import { IsochronError, type Principal } from '@isochron/core';
import type { Done } from '@isochron/sessions';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { FailedAuthentications } from '../http/limits/failed-authentications.js';
import type { Authenticator } from './authenticator.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who makes the request, where callers need credentials: from the hook of {@link identifyCallers} on. */
    principal: Principal | null;
  }
}

/** API keys from `ISOCHRON_API_KEYS`: a comma-separated list. */
export const apiKeysFromEnv = (env: NodeJS.ProcessEnv): string[] =>
  (env.ISOCHRON_API_KEYS ?? '')
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');

/** Refuses requests without accepted credentials, and sets the principal of the others. */
export function identifyCallers(app: FastifyInstance, auth: Authenticator, failed: FailedAuthentications): void {
  app.decorateRequest('principal', null);
  if (!auth.required) return;
  app.addHook('onRequest', (request, _reply, done) => {
    const identify = (identified: Done<Principal>) => auth.authenticate(credentialsIn(request), identified);
    failed.guard(request.ip, identify, (result) => {
      if (result instanceof IsochronError) {
        done(result);
        return;
      }
      request.principal = result;
      done();
    });
  });
}

const credentialsIn = ({ headers }: FastifyRequest): string | undefined =>
  /^Bearer +([^ ]+)$/i.exec(headers.authorization ?? '')?.[1];
