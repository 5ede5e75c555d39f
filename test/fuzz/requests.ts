/// <reference types="jest" />
/** HTTP requests as bytes, and the requirements for every response. */
import { HTTP_STATUS, isErrorCode } from '@isochron/core';
import { exchange } from './sockets.js';

/** A request that is sent exactly as written here. */
export interface RawRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly payload?: string | Buffer;
}

/** The first response on a connection. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly head: string;
  readonly body: string;
}

/**
 * Sends a request to a local port, and checks that the response is a success or a coded refusal. Undefined without a
 * response, which is allowed only where the request's own headers contradict its length.
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

/** The response to some bytes; undefined when the connection ended without one. */
export async function answerTo(port: number, bytes: Uint8Array, end: boolean): Promise<Answer | undefined> {
  const text = (await exchange(port, bytes, end)).toString('utf8');
  if (text === '') return undefined;
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]);
  if (Number.isNaN(status)) throw new Error(`no answer of HTTP: ${text.slice(0, 200)}`);
  const to = text.indexOf('\r\n\r\n');
  const head = text.slice(0, to);
  return { status, type: headerOf(head, 'content-type') ?? '', head, body: bodyOf(text.slice(to + 4), head) };
}

/** A header of a response. */
export const headerOf = (head: string, name: string): string | undefined =>
  new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1];

/** The body of the first response: others may follow where one request was parsed as two. */
function bodyOf(rest: string, head: string): string {
  const length = headerOf(head, 'content-length');
  return length === undefined ? rest : Buffer.from(rest).subarray(0, Number(length)).toString();
}

/** Every response is a success, or a problem document with a code that is not a server fault. */
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
