/**
 * The times in which nothing is read from a client that floods. Messages that have come already wait: after each rest
 * as many are served as the client's rate and refusals allow.
 */
import { after } from '../node/after.js';

interface Message {
  readonly data: Buffer;
  readonly isBinary: boolean;
}

/** The side that is read. `pause` and `resume` concern the messages that are not received yet. */
export interface Reader {
  deliver(data: Buffer, isBinary: boolean): void;
  pause(): void;
  resume(): void;
}

export class Rests {
  #isResting = false;
  /** Whether the message that is delivered has begun another rest. */
  #begun = false;
  /** Bounded by what a paused side has received: a chunk of a socket, or the window of a channel. */
  #held: Message[] = [];

  constructor(readonly reader: Reader) {}

  get isResting(): boolean {
    return this.#isResting;
  }

  /** Takes a message, and delivers it now or after the rest. */
  receive(data: Buffer, isBinary: boolean): void {
    if (this.#isResting) this.#held.push({ data, isBinary });
    else this.reader.deliver(data, isBinary);
  }

  /** Begins a rest. */
  begin(ms: number): void {
    this.#isResting = true;
    this.#begun = true;
    this.reader.pause();
    after(ms, () => this.#end());
  }

  /** Delivers one message in each turn of the event loop, so that other clients have theirs. */
  #end(): void {
    const message = this.#held.shift();
    this.#isResting = message !== undefined;
    if (message === undefined) {
      this.reader.resume();
      return;
    }
    this.#begun = false;
    this.reader.deliver(message.data, message.isBinary);
    if (!this.#begun) setImmediate(() => this.#end());
  }
}
