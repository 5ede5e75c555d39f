import { type FrameEncoder, isLarge, type Outgoing } from '@isochron/sessions';
import type { Codec, Encoded } from './codec.js';

/** Bytes of large answers above which a message takes no further frame. */
const MESSAGE_BYTES = 1 << 20;

/** Frames to be sent to a session. They are encoded only when they leave. */
export class AnswerQueue {
  #frames: Outgoing[] = [];
  /** Bytes of the large frames among them. */
  #bytes = 0;

  constructor(readonly codec: Codec) {}

  /** Bytes of the waiting frames; small frames do not count. */
  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#frames.length === 0;
  }

  push(outgoing: Outgoing): void {
    this.#frames.push(outgoing);
    this.#bytes += bytesOf(outgoing);
  }

  /** A message of the first frames, up to the frame that reaches the bound. The queue is not empty. */
  next(): string | Uint8Array {
    let bytes = 0;
    let count = 0;
    for (; count < this.#frames.length && bytes < MESSAGE_BYTES; count++) bytes += bytesOf(this.#frames[count]!);
    this.#bytes -= bytes;
    const message: Encoded[] = [];
    for (let i = 0; i < count; i++) message.push(encoded(this.#frames[i]!, this.codec));
    this.#frames = count === this.#frames.length ? [] : this.#frames.slice(count);
    return this.codec.pack(message);
  }
}

const bytesOf = (outgoing: Outgoing): number => (isLarge(outgoing) ? outgoing.bytes : 0);
const encoded = (outgoing: Outgoing, codec: FrameEncoder<Encoded>): Encoded =>
  isLarge(outgoing) ? outgoing.encode(codec) : codec.frame(outgoing);
