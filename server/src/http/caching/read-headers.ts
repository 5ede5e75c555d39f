import { type Timestamp, wallOf } from '@isochron/core';
import type { FastifyReply } from 'fastify';
import type { RunningNode } from '../../node/api.js';
import { type Answers, type Headers, merged } from './answers.js';

/**
 * Headers of reads: the snapshot that was read, and that caches have to keep the answers of sessions apart. Their texts
 * are cached while the snapshot stays the same: hot reads format nothing.
 */
export class ReadHeaders {
  #snapshot: Timestamp = -1;
  #snapshotText = '';
  #stalenessAt = 0;
  #stalenessText = '';

  constructor(
    readonly node: Pick<RunningNode, 'now'>,
    readonly answers: Answers,
  ) {}

  /** @param snapshot timestamp of the snapshot that was read, where it has one */
  apply(reply: FastifyReply, snapshot: Timestamp | undefined, token: string): void {
    reply.headers(merged(reply, this.#add({}, snapshot, token)));
  }

  /**
   * Answers a read, see {@link Answers.send}.
   * @param more further headers, to which those of reads are added
   */
  send(
    reply: FastifyReply,
    snapshot: Timestamp | undefined,
    token: string,
    text: string,
    more: Headers = {},
    status = 200,
  ): void {
    this.answers.send(reply, status, this.#add(more, snapshot, token), text);
  }

  #add(headers: Headers, snapshot: Timestamp | undefined, token: string): Headers {
    headers['isochron-session'] = token;
    headers.vary = VARY;
    headers['cache-control'] = REVALIDATED;
    if (snapshot === undefined) return headers;
    this.#format(snapshot);
    headers['isochron-snapshot'] = this.#snapshotText;
    headers['isochron-staleness-ms'] = this.#stalenessText;
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

/** Request headers that an answer depends on: the session, whose own writes it shows, and the caller. */
const VARY = 'Isochron-Session, Authorization';
/** `Cache-Control`: a browser may keep the answer, and revalidates it each time. */
export const REVALIDATED = 'private, no-cache';
/** `Cache-Control`: no cache keeps the answer. */
export const NOT_STORED = 'no-store';
