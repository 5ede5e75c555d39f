import { type AnyMessage, MalformedMessage, type NodeId, type WallMs } from '@isochron/core';
import type { PeerInfo } from '@isochron/wire';
import type { Connection, ConnectionEnd } from './connection.js';
import { LinkCounters } from './counters.js';
import type { Envelope } from './envelope.js';
import type { Log } from './options.js';
import type { Packer } from './packing.js';
import type { LinkStatus, TransportEvents } from './transport.js';

export interface LinkOptions<M extends AnyMessage> {
  readonly node: NodeId;
  readonly packer: Packer<M>;
  readonly events: TransportEvents<M>;
  readonly log: Log;
  readonly wallClock: () => WallMs;
}

/** The link to one peer over all its connections. At most one of them carries it at a time. */
export class Link<M extends AnyMessage> {
  readonly #options: LinkOptions<M>;
  readonly counters: LinkCounters;
  #connection: Connection | undefined;

  constructor(options: LinkOptions<M>) {
    this.#options = options;
    this.counters = new LinkCounters(options.wallClock);
  }

  get up(): boolean {
    return this.#connection?.up === true;
  }

  /** The connection that carries the link. */
  get connection(): Connection | undefined {
    return this.#connection;
  }

  status(): LinkStatus {
    // A connection may have ended and not have reported it yet.
    return { ...this.counters.status(this.#options.node), up: this.up };
  }

  send(envelopes: readonly Envelope<M>[]): void {
    const connection = this.#connection;
    let left = envelopes.length;
    if (connection?.up === true) {
      const { node, packer, events, log } = this.#options;
      for (const frame of packer.pack(envelopes)) {
        if (!connection.send(frame.bytes)) break;
        this.counters.count('sent', frame.bytes.length, frame.envelopes.length);
        events.sent?.(node, frame);
        left -= frame.envelopes.length;
      }
      if (left > 0 && connection.up) {
        log('error', 'messages larger than a frame may be were dropped', { peer: node, messages: left });
      }
    }
    this.counters.dropped += left;
  }

  /** A connection was accepted: it carries the link from now on. */
  attach(connection: Connection, peer: PeerInfo): void {
    this.#connection?.close('LINK_REPLACED', 'the node opened a newer connection');
    this.#connection = connection;
    this.counters.turned(true);
    this.#options.log('info', 'link up', { peer: peer.nodeId });
    this.#options.events.link(peer.nodeId, true, peer);
  }

  /** A connection ended, whether it carried the link or not. */
  ended(connection: Connection, { code, detail }: ConnectionEnd): void {
    this.counters.failed(code, detail);
    if (connection !== this.#connection) return;
    const { node, events, log } = this.#options;
    this.#connection = undefined;
    this.counters.turned(false);
    log('info', 'link down', { peer: node, code, detail });
    events.link(node, false);
  }

  /** A frame came over the connection that carries the link. */
  receive(connection: Connection, bytes: Uint8Array): void {
    const frame = this.#unpack(connection, bytes);
    if (frame === undefined) return;
    this.counters.count('received', bytes.length, frame.envelopes.length);
    const { node, events } = this.#options;
    const foreign = events.foreign?.(node, frame.envelopes);
    if (foreign !== undefined) {
      connection.close('PEER_REFUSED', foreign);
      return;
    }
    const refusal = events.refuses?.(node, frame.hlc, frame.envelopes);
    if (refusal === undefined) events.frame(node, frame.hlc, frame.envelopes);
    else connection.close('CLOCK_DRIFT', refusal);
  }

  #unpack(connection: Connection, bytes: Uint8Array): ReturnType<Packer<M>['unpack']> | undefined {
    try {
      return this.#options.packer.unpack(bytes);
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      connection.close('FRAME_INVALID', error.message);
      return undefined;
    }
  }
}
