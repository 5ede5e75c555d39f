import type { Socket } from 'node:net';
import { HTTP_STATUS, IsochronError } from '@isochron/core';
import type { CallerHeaders, Origins } from '../requests/origins.js';
import { PROBLEM_TYPE, problemText } from './problem.js';

/** Why Node cannot parse a request, with the bytes of it that came last. */
type ParseError = Error & { readonly code?: string; readonly rawPacket?: unknown };

/** Answers a request that Node cannot parse as HTTP with a problem document, and ends the connection. */
export const answerBrokenRequest =
  (origins: Origins) =>
  (error: ParseError, socket: Socket): void => {
    if (error.code === 'ECONNRESET') socket.destroy();
    if (socket.destroyed) return;
    if (socket.writable) socket.write(answerTo(error, origins));
    socket.destroySoon();
  };

function answerTo({ code, rawPacket }: ParseError, origins: Origins): string {
  const problem = problemOf(code);
  const text = problemText(problem);
  const head = [
    `HTTP/1.1 ${HTTP_STATUS[problem.code]} Refused`,
    `content-type: ${PROBLEM_TYPE}`,
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
    ...Object.entries(origins.headersFor(callerIn(rawPacket))).map(([name, value]) => `${name}: ${value}`),
  ];
  return `${head.join('\r\n')}\r\n\r\n${text}`;
}

/** The headers that name the page and the server, as far as they are in the bytes. */
function callerIn(bytes: unknown): CallerHeaders {
  const text = Buffer.isBuffer(bytes) ? bytes.toString('latin1') : '';
  const header = (name: string) => new RegExp(`\\r\\n${name}:[ \\t]*([!-~]+)[ \\t]*\\r\\n`, 'i').exec(text)?.[1];
  return { host: header('host'), origin: header('origin') };
}

function problemOf(code: string | undefined): IsochronError {
  if (code === 'HPE_HEADER_OVERFLOW') return new IsochronError('REQUEST_TOO_LARGE', 'The headers are too large.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new IsochronError('INVALID_REQUEST', 'The request was not complete in time.');
  }
  return new IsochronError('INVALID_REQUEST', 'This is not HTTP/1.1.');
}
