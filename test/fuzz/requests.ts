/// <reference types="jest" />
/** HTTP requests as bytes, and what every answer to one has to be. */
import { HTTP_STATUS, isErrorCode } from '@isochron/core';
import { exchange } from './sockets.js';

/** A request that goes out as it is written here. */
export interface RawRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly payload?: string | Buffer;
}

/** The first answer on a connection. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly head: string;
  readonly body: string;
}

/**
 * Sends a request to a local port, and checks that it is answered, by a success or a coded refusal. Undefined when there was no answer:
 * only where the request's own headers say something else about its length.
 */
export async function askRaw(
  port: number,
  { method, url, headers = {}, payload = '' }: RawRequest,
): Promise<Answer | undefined> {
  const fields = { host: 'localhost', connection: 'close', 'content-length': Buffer.byteLength(payload), ...headers };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  const head = Buffer.from([`${method} ${url} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
  const unclear = 'content-length' in headers || 'transfer-encoding' in headers;
  const answer = await answerTo(port, Buffer.concat([head, Buffer.from(payload)]), unclear);
  if (answer !== undefined) isCoded(answer, method === 'HEAD');
  else if (!unclear) throw new Error(`no answer to ${method} ${url}`);
  return answer;
}

/** What bytes are answered; undefined when the connection was ended without a word. */
export async function answerTo(port: number, bytes: Uint8Array, end: boolean): Promise<Answer | undefined> {
  const text = (await exchange(port, bytes, end)).toString('utf8');
  if (text === '') return undefined;
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]);
  if (Number.isNaN(status)) throw new Error(`no answer of HTTP: ${text.slice(0, 200)}`);
  const to = text.indexOf('\r\n\r\n');
  const head = text.slice(0, to);
  return { status, type: headerOf(head, 'content-type') ?? '', head, body: bodyOf(text.slice(to + 4), head) };
}

/** A header of an answer. */
export const headerOf = (head: string, name: string): string | undefined =>
  new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1];

/** The body of the first answer: others may follow where one request was read as two. */
function bodyOf(rest: string, head: string): string {
  const length = headerOf(head, 'content-length');
  return length === undefined ? rest : Buffer.from(rest).subarray(0, Number(length)).toString();
}

/** What every answer is: a success, or a problem document with a code that is not the server's own fault. */
export function isCoded({ status, type, body }: Answer, headOnly = false): void {
  if (status < 400) return;
  expect(type).toContain('application/problem+json');
  if (headOnly) return;
  const problem: unknown = JSON.parse(body);
  const { code } = problem as { code?: unknown };
  if (!isErrorCode(code)) throw new Error(`no code of ours: ${body}`);
  expect(['INTERNAL', 'STORAGE_FAILED']).not.toContain(code);
  expect(problem).toMatchObject({ status, type: `/errors/${code}`, retryable: expect.any(Boolean) });
  expect(status).toBe(HTTP_STATUS[code]);
}
