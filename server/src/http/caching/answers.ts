/** The hot way of a JSON answer to the socket. */
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Headers of one answer. Its maker gives them away: they may be changed. */
export type Headers = Record<string, string | number>;

/** Content type of every JSON answer. */
export const JSON_TYPE = 'application/json; charset=utf-8';

interface UnsentAnswer {
  readonly response: ServerResponse;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export class Answers {
  /** @param count takes the bytes of each answer that the hooks of Fastify do not see */
  constructor(readonly count: (request: FastifyRequest, bytes: number) => void) {}

  #waiting: UnsentAnswer[] = [];
  readonly #flush = (): void => {
    const answers = this.#waiting;
    this.#waiting = [];
    for (const { response, status, headers, text } of answers) {
      response.writeHead(status, headers);
      response.end(text);
    }
  };

  /**
   * Answers with JSON text. A caller that is not a web page gets it straight from Node: Fastify's steps between handler
   * and socket cost a sixth of a small read, and have no effect here. Answers of one turn of the event loop are sent
   * one right after the other: a client that is woken by the first finds the others there, and is not woken for each.
   */
  send(reply: FastifyReply, status: number, headers: Headers, text: string): void {
    headers['content-type'] = JSON_TYPE;
    if (reply.request.headers.origin !== undefined) {
      reply.code(status).headers(merged(reply, headers)).send(text);
      return;
    }
    const bytes = Buffer.byteLength(text);
    headers['content-length'] = bytes;
    this.count(reply.request, bytes);
    reply.hijack();
    if (this.#waiting.length === 0) setImmediate(this.#flush);
    this.#waiting.push({ response: reply.raw, status, headers, text });
  }
}

/** The headers, with what the reply varies on already. */
export function merged(reply: FastifyReply, headers: Headers): Headers {
  const vary = reply.getHeader('vary');
  if (vary !== undefined && headers.vary !== undefined) headers.vary = `${vary}, ${headers.vary}`;
  return headers;
}
