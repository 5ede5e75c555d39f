/** Bounds of the bytes of request bodies that a node holds, in all and for each address. */
import { IsochronError, Quota } from '@isochron/core';
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload } from 'fastify';
import type { NodeLimits } from './limits.js';

export type BodyLimits = Pick<NodeLimits, 'bodyBytes' | 'bodyBytesPerAddress'>;

/** Refuses bodies while too many bytes are held, and ends the connection of a body that grows above the bound. */
export function limitBodies(app: FastifyInstance, { bodyBytes, bodyBytesPerAddress }: BodyLimits): void {
  const quota = new Quota(bodyBytes, bodyBytesPerAddress);
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (hasBody(request)) hold(quota, request, reply, payload);
    done(null, payload);
  });
}

const hasBody = ({ headers }: FastifyRequest): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;

/** Counts the bytes of a body, until the answer has been sent or the connection has ended. */
function hold(quota: Quota, { ip, raw }: FastifyRequest, reply: FastifyReply, payload: RequestPayload): void {
  if (!quota.take(ip)) {
    reply.header('connection', 'close');
    throw new IsochronError('OVERLOADED', 'The node receives more than it can hold. Repeat the request later.');
  }
  let held = 1;
  reply.raw.once('close', () => quota.give(ip, held));
  payload.on('data', ({ length }: Buffer) => {
    if (quota.take(ip, length)) held += length;
    else raw.destroy();
  });
}
