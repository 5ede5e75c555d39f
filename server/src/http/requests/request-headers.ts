/** Headers and addresses that say how a request is to be read: what no code here reads that way is refused. */
import type { IncomingMessage } from 'node:http';
import { IsochronError } from '@isochron/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Refuses addresses that are not percent-encoded UTF-8. Other programs would read them otherwise. */
export function refuseBadAddresses(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw: { url = '' } }, _reply, done) => {
    if (!isAscii(url))
      throw new IsochronError('INVALID_REQUEST', 'The URL is not percent-encoded: it has other bytes.');
    const query = url.indexOf('?');
    if (query >= 0 && url.includes('%', query) && !isDecodable(url.slice(query)))
      throw new IsochronError('INVALID_REQUEST', 'The query is not percent-encoded UTF-8.');
    done();
  });
}

/** Refuses bodies in another encoding than what they are read as. */
export function refuseEncodedBodies(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (!hasBody(request)) {
      done();
      return;
    }
    const problem = encodingProblem(request);
    if (problem !== undefined) {
      reply.header('accept-encoding', 'identity');
      throw new IsochronError('UNSUPPORTED_MEDIA_TYPE', problem);
    }
    if (request.headers['content-range'] !== undefined)
      throw new IsochronError('INVALID_REQUEST', 'A body is whole: Content-Range names a part.');
    done();
  });
}

export const hasBody = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;

function encodingProblem({ headers }: FastifyRequest): string | undefined {
  const { 'content-encoding': content, 'transfer-encoding': transfer, 'content-type': type } = headers;
  if (content !== undefined && !isIdentity(content))
    return `A body is taken as it is: not with Content-Encoding ${JSON.stringify(content)}.`;
  if (transfer !== undefined && transfer.trim().toLowerCase() !== 'chunked')
    return `A body comes whole or chunked: not with Transfer-Encoding ${JSON.stringify(transfer)}.`;
  const charset = type === undefined ? undefined : charsetOf(type);
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8')
    return `A text is UTF-8: not in the charset ${JSON.stringify(charset)}.`;
  return undefined;
}

const isIdentity = (encodings: string): boolean =>
  encodings.split(',').every((encoding) => /^\s*(identity)?\s*$/i.test(encoding));

/** The charset of a content type, in lower case. Bytes have none: it is another kind of parameter there. */
function charsetOf(contentType: string): string | undefined {
  if (/^\s*application\/octet-stream\s*(;|$)/i.test(contentType)) return undefined;
  const charset = /;\s*charset\s*=\s*("(?:[^"\\]|\\.)*"|[^;\s]*)/i.exec(contentType)?.[1];
  return charset?.replace(/^"|"$/g, '').trim().toLowerCase();
}

/** A URL has no blanks and control characters. */
const isAscii = (url: string): boolean => /^[!-~]*$/.test(url);

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * The quality with which an `Accept` header names a media type, from 0 to 1: by its name, else by a range that holds
 * it (RFC 9110, 12.5.1). 0 where nothing names it.
 */
export function quality(accept: string, type: string, isByNameOnly = false): number {
  const ranges = isByNameOnly ? [type] : [type, `${type.split('/')[0]}/*`, '*/*'];
  const named = new Map<string, number>();
  for (const item of accept.toLowerCase().split(',')) {
    const [range = '', ...parameters] = item.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => /^q\s*=/.test(parameter));
    const value = weight === undefined ? 1 : Number(weight.replace(/^q\s*=\s*/, ''));
    named.set(range, value >= 0 && value <= 1 ? value : 1);
  }
  for (const range of ranges) if (named.has(range)) return named.get(range)!;
  return 0;
}
