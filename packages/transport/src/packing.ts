import type { AnyMessage, NodeId, Timestamp } from '@isochron/core';
import type { FrameCodec, FrameEnvelope } from '@isochron/wire';
import type { Address, Envelope } from './envelope.js';

/** Messages packed for a peer. */
export interface PackedFrame<M extends AnyMessage> {
  readonly bytes: Uint8Array;
  readonly envelopes: readonly Envelope<M>[];
  /** Bytes of the frame for each of them; empty if not measured. */
  readonly sizes: readonly number[];
}

/** A packer's view of its node. */
export interface PackerOptions<M extends AnyMessage> {
  readonly codec: FrameCodec<M>;
  /** The node's clock, read once for every frame. */
  readonly hlc: () => Timestamp;
  /** Largest frame that is sent, in bytes. */
  readonly maxFrameBytes: number;
  /** Whether the bytes of each message in a frame are measured. */
  readonly measures: boolean;
}

/** One address object per machine of a node, so that messages share them. */
class AddressBook {
  readonly #addresses = new Map<string, Address>();

  constructor(readonly node: NodeId) {}

  of(machine: string): Address {
    const known = this.#addresses.get(machine);
    if (known !== undefined) return known;
    const address = { node: this.node, machine };
    // Bounded, because a peer chooses the names.
    if (this.#addresses.size < 4096) this.#addresses.set(machine, address);
    return address;
  }
}

/** Turns a link's envelopes into frames and back. One for each pair of nodes. */
export class Packer<M extends AnyMessage> {
  readonly #options: PackerOptions<M>;
  readonly #own: AddressBook;
  readonly #peer: AddressBook;

  constructor(self: NodeId, peer: NodeId, options: PackerOptions<M>) {
    this.#options = options;
    this.#own = new AddressBook(self);
    this.#peer = new AddressBook(peer);
  }

  /** The messages in one frame, or in several if one would be too large. A single message too large is left out. */
  pack(envelopes: readonly Envelope<M>[]): PackedFrame<M>[] {
    const { codec, hlc, maxFrameBytes, measures } = this.#options;
    const count = envelopes.length;
    if (count === 0) return [];
    if (count > codec.maxEnvelopes) return this.#packHalves(envelopes);
    const named = new Array<FrameEnvelope<M>>(count);
    for (let i = 0; i < count; i++) {
      const { to, from, message } = envelopes[i]!;
      named[i] = { to: to.machine, from: from.machine, message };
    }
    const sizes: number[] = [];
    const bytes = codec.encode({ hlc: hlc(), envelopes: named }, measures ? sizes : undefined);
    if (bytes.length <= maxFrameBytes) return [{ bytes, envelopes, sizes }];
    return count === 1 ? [] : this.#packHalves(envelopes);
  }

  #packHalves(envelopes: readonly Envelope<M>[]): PackedFrame<M>[] {
    const half = envelopes.length >>> 1;
    return [...this.pack(envelopes.slice(0, half)), ...this.pack(envelopes.slice(half))];
  }

  /** Throws `MalformedMessage`. */
  unpack(bytes: Uint8Array): { hlc: Timestamp; envelopes: Envelope<M>[] } {
    const frame = this.#options.codec.decode(bytes);
    const envelopes = new Array<Envelope<M>>(frame.envelopes.length);
    for (let i = 0; i < envelopes.length; i++) {
      const { to, from, message } = frame.envelopes[i]!;
      envelopes[i] = { to: this.#own.of(to), from: this.#peer.of(from), message };
    }
    return { hlc: frame.hlc, envelopes };
  }
}
