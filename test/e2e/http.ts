/** Plain HTTP: `fetch` would correct these requests, and keep connections to killed nodes. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON. */
  readonly json: unknown;
}

export interface Request {
  readonly headers?: Readonly<Record<string, string>>;
  /** Text and bytes go as they are; anything else as JSON, with its content type. */
  readonly body?: unknown;
  /** Default 20 s. */
  readonly timeoutMs?: number;
}

/** The certificate authorities of the clusters with TLS. */
const ca: string[] = [];

/** Accepts the certificates of an authority from now on. */
export const trust = (authority: string): number => ca.push(authority);

/** One request on a connection of its own. */
export function call(base: string, method: string, path: string, request: Request = {}): Promise<Answer> {
  const { body, headers, timeoutMs = 20_000 } = request;
  const raw = typeof body === 'string' || Buffer.isBuffer(body) || body === undefined;
  const all = { ...(raw ? {} : { 'content-type': 'application/json' }), ...headers };
  const { hostname, port, protocol } = new URL(base);
  const open = protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const sent = open({ hostname, port, method, path, headers: all, agent: false, timeout: timeoutMs, ca });
    sent.on('response', (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, json: parsed(text) });
      });
    });
    sent.on('timeout', () => sent.destroy(new Error(`${method} ${base}${path}: no answer in ${timeoutMs} ms`)));
    sent.on('error', reject);
    sent.end(raw ? body : JSON.stringify(body));
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Path of a key in the keyspace `default`. */
export const keyPath = (key: string): string => `/v1/keyspaces/default/keys/${encodeURIComponent(key)}`;
