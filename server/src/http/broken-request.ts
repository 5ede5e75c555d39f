import type { Socket } from 'node:net';
import { HTTP_STATUS, IsochronError } from '@isochron/core';
import { PROBLEM_TYPE, problemText } from './problem.js';

/** Answers a request that Node cannot parse as HTTP with a problem document, and ends the connection. */
export function answerBrokenRequest(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET') socket.destroy();
  if (socket.destroyed) return;
  if (socket.writable) socket.write(answerTo(error.code));
  socket.destroySoon();
}

function answerTo(code: string | undefined): string {
  const problem = problemOf(code);
  const text = problemText(problem);
  const head = [
    `HTTP/1.1 ${HTTP_STATUS[problem.code]} Refused`,
    `content-type: ${PROBLEM_TYPE}`,
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${text}`;
}

function problemOf(code: string | undefined): IsochronError {
  if (code === 'HPE_HEADER_OVERFLOW') return new IsochronError('REQUEST_TOO_LARGE', 'The headers are too large.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new IsochronError('INVALID_REQUEST', 'The request was not complete in time.');
  }
  return new IsochronError('INVALID_REQUEST', 'This is not HTTP/1.1.');
}
