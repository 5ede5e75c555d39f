import type { ServerResponse } from 'node:http';
import { type Timestamp, wallOf } from '@isochron/core';
import type { FastifyReply } from 'fastify';
import type { RunningNode } from '../node/api.js';

/**
 * Headers of reads: the snapshot that was read, and that caches have to keep the answers of sessions apart. Their texts
 * are cached while the snapshot stays the same: hot reads format nothing.
 */
export class ReadHeaders {
  #snapshot: Timestamp = -1;
  #snapshotText = '';
  #stalenessAt = 0;
  #stalenessText = '';
  readonly #burst = new AnswerBurst();

  constructor(readonly node: Pick<RunningNode, 'now'>) {}

  /** @param snapshot timestamp of the snapshot that was read, where it has one */
  apply(reply: FastifyReply, snapshot: Timestamp | undefined, token: string): void {
    const vary = reply.getHeader('vary');
    reply
      .header('isochron-session', token)
      .header('vary', vary === undefined ? VARY : `${vary}, ${VARY}`)
      .header('cache-control', CACHE_CONTROL);
    if (snapshot === undefined) return;
    this.#format(snapshot);
    reply.header('isochron-snapshot', this.#snapshotText);
    reply.header('isochron-staleness-ms', this.#stalenessText);
  }

  /**
   * Answers 200 with a text. A caller that is not a web page gets it straight from Node: Fastify's steps between
   * handler and socket cost a sixth of a small read, and have no effect here. `version` is that of the one value read,
   * if there is one.
   */
  send(
    reply: FastifyReply,
    snapshot: Timestamp | undefined,
    token: string,
    text: string,
    version?: { timestamp: string; etag: string | undefined },
  ): void {
    if (reply.request.headers.origin !== undefined) {
      this.apply(reply, snapshot, token);
      if (version !== undefined) reply.header('isochron-commit-timestamp', version.timestamp);
      if (version?.etag !== undefined) reply.header('etag', version.etag);
      reply.header('content-type', JSON_TYPE).send(text);
      return;
    }
    reply.hijack();
    this.#burst.add(reply.raw, this.#headers(snapshot, token, text, version), text);
  }

  #headers(
    snapshot: Timestamp | undefined,
    token: string,
    text: string,
    version: { timestamp: string; etag: string | undefined } | undefined,
  ): Headers {
    const headers: Headers = {
      'content-type': JSON_TYPE,
      'content-length': Buffer.byteLength(text),
      'isochron-session': token,
      vary: VARY,
      'cache-control': CACHE_CONTROL,
    };
    if (snapshot !== undefined) {
      this.#format(snapshot);
      headers['isochron-snapshot'] = this.#snapshotText;
      headers['isochron-staleness-ms'] = this.#stalenessText;
    }
    if (version !== undefined) headers['isochron-commit-timestamp'] = version.timestamp;
    if (version?.etag !== undefined) headers.etag = version.etag;
    return headers;
  }

  #format(snapshot: Timestamp): void {
    const now = this.node.now();
    if (snapshot !== this.#snapshot) {
      this.#snapshot = snapshot;
      this.#snapshotText = String(snapshot);
      this.#stalenessAt = 0;
    }
    if (now !== this.#stalenessAt) {
      this.#stalenessAt = now;
      this.#stalenessText = String(Math.max(0, Math.round(now - wallOf(snapshot))));
    }
  }
}

type Headers = Record<string, string | number>;

/** Request headers that an answer depends on: the session, whose own writes it shows, and the caller. */
const VARY = 'Isochron-Session, Authorization';
/** A browser may keep the answer, and revalidates it each time. */
const CACHE_CONTROL = 'private, no-cache';

/**
 * Answers of one turn of the event loop are sent one right after the other: a client that is woken by the first finds
 * the others there, and is not woken for each.
 */
class AnswerBurst {
  #waiting: { response: ServerResponse; headers: Headers; text: string }[] = [];
  readonly #flush = (): void => {
    const answers = this.#waiting;
    this.#waiting = [];
    for (const { response, headers, text } of answers) {
      response.writeHead(200, headers);
      response.end(text);
    }
  };

  add(response: ServerResponse, headers: Headers, text: string): void {
    if (this.#waiting.length === 0) setImmediate(this.#flush);
    this.#waiting.push({ response, headers, text });
  }
}

/** Content type of every JSON answer. */
export const JSON_TYPE = 'application/json; charset=utf-8';
