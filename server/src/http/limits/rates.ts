/**
 * The rate of requests over HTTP: a client has one share of the node for its requests and its sessions. A client at its
 * limit is answered at once; one that goes on asking waits for its refusals; one with too many of these is cut off.
 */
import { HTTP_STATUS, Quota } from '@isochron/core';
import { type Rates, rateLimited } from '@isochron/sessions';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiContext } from '../context.js';
import type { ClientTurns } from './turns.js';

/** How long a refusal waits on average, ms: from half to one and a half of it, so that they do not come together. */
const HELD_MS = 500;
/** Refusals that wait, in all. */
const HELD = 1024;
/** Refusals of one client that wait; a client with more of these is cut off. */
export const HELD_PER_CLIENT = 256;

/** Counts the requests of the routes of this scope, and their answers' bytes. */
export function limitRates(app: FastifyInstance, api: ApiContext): void {
  const { rates } = api.serving;
  const held = new Quota(HELD, HELD_PER_CLIENT);
  const admit = (client: string, request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    const now = rates.steady();
    const waitMs = rates.take(client, 1, now);
    if (waitMs === 0) {
      if (rates.isScarce(client, now)) announce(api, request, reply);
      done();
      return;
    }
    const error = rateLimited(waitMs);
    if (!rates.refuse(client, now)) done(error);
    else if (held.take(client)) {
      setTimeout(
        () => {
          held.give(client);
          done(error);
        },
        HELD_MS * (0.5 + Math.random()),
      );
    } else {
      reply.hijack();
      request.raw.socket.destroy();
    }
  };
  app.addHook('onRequest', (request, reply, done) => {
    const client = api.client(request);
    inTurn(rates, api.turns, client, () => admit(client, request, reply, done));
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    if (reply.statusCode === HTTP_STATUS.RATE_LIMITED) announce(api, request, reply);
    if (typeof payload === 'string' || Buffer.isBuffer(payload)) api.useBytes(request, payload.length);
    done(null, payload);
  });
}

/** Does a piece of work of a client: at once, or in its turn where the client has used most of its share. */
export function inTurn(rates: Rates, turns: ClientTurns, client: string, piece: () => void): void {
  if (rates.isScarce(client, rates.steady())) turns.take(client, piece);
  else piece();
}

/** A request names many keys, and counts as many requests. @throws IsochronError `RATE_LIMITED` */
export function countKeys(api: ApiContext, request: FastifyRequest, keys: number): void {
  if (keys < 2) return;
  const { rates } = api.serving;
  const waitMs = rates.take(api.client(request), keys - 1, rates.steady());
  if (waitMs > 0) throw rateLimited(waitMs);
}

/** Names the quota of the client and the rest of it (draft-ietf-httpapi-ratelimit-headers, versions 08 to 10). */
function announce(api: ApiContext, request: FastifyRequest, reply: FastifyReply): void {
  const { rates } = api.serving;
  const { requestsPerSecondPerClient: requests, bytesPerSecondPerClient: bytes } = rates.bounds;
  const left = rates.left(api.client(request), rates.steady());
  reply.raw.setHeader('ratelimit-policy', `"requests";q=${requests};w=1, "bytes";q=${bytes};qu="content-bytes";w=1`);
  reply.raw.setHeader('ratelimit', `"requests";r=${left};t=1`);
}
