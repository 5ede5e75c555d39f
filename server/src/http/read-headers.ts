import { type Timestamp, wallOf } from '@isochron/core';
import type { FastifyReply } from 'fastify';
import type { RunningNode } from '../node/api.js';

/** Headers that tell which snapshot was read. Their texts are kept while the snapshot stays the same: hot reads format nothing. */
export class ReadHeaders {
  #snapshot: Timestamp = -1;
  #snapshotText = '';
  #stalenessAt = 0;
  #stalenessText = '';

  constructor(readonly node: Pick<RunningNode, 'now'>) {}

  apply(reply: FastifyReply, snapshot: Timestamp, token: string): void {
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
    reply.header('isochron-session', token);
    reply.header('isochron-snapshot', this.#snapshotText);
    reply.header('isochron-staleness-ms', this.#stalenessText);
  }
}
