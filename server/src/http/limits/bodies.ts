/** Bounds of the bytes of request bodies that a node holds, in all and for each address. */
import { IsochronError, Quota } from '@isochron/core';
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload } from 'fastify';
import type { ApiContext } from '../context.js';
import { hasBody } from '../requests/request-headers.js';
import type { NodeLimits } from './limits.js';

export type BodyLimits = Pick<NodeLimits, 'bodyBytes' | 'bodyBytesPerAddress'>;

/** Refuses bodies while too many bytes are held, and ends the connection of a body that grows above the bound. */
export function limitBodies(app: FastifyInstance, api: ApiContext, limits: BodyLimits): void {
  const quota = new Quota(limits.bodyBytes, limits.bodyBytesPerAddress);
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (hasBody(request)) hold(quota, api, request, reply, payload);
    done(null, payload);
  });
}

/**
 * Counts the bytes of a body until the answer has been sent or the connection has ended; then towards the rate of the
 * client.
 */
function hold(
  quota: Quota,
  api: ApiContext,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: RequestPayload,
): void {
  const { ip, raw } = request;
  const { reached } = api.serving.reached;
  if (!quota.take(ip)) {
    reached('bodyBytes');
    reply.header('connection', 'close');
    throw new IsochronError('OVERLOADED', 'The node receives more than it can hold. Repeat the request later.');
  }
  let held = 1;
  reply.raw.once('close', () => {
    quota.give(ip, held);
    api.useBytes(request, held);
  });
  payload.on('data', ({ length }: Buffer) => {
    if (quota.take(ip, length)) held += length;
    else {
      reached('bodyBytes');
      raw.destroy();
    }
  });
}
