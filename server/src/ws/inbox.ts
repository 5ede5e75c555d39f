/**
 * The messages of a connection that have come. They are served at once, unless the client has used most of its share
 * of the node: then a part of them is served in each of its turns. While the connection rests, none is served.
 */
import type { ServedConnection } from '@isochron/sessions';
import type { ClientTurns } from '../http/limits/turns.js';
import { after } from '../node/after.js';
import type { Codec } from './codec.js';

/** Requests that are served in a turn. */
const REQUESTS = 32;

interface InboxMessage {
  readonly data: Buffer;
  readonly isBinary: boolean;
}

/** The side that is read. `pause` and `resume` concern the messages that have not come yet. */
export interface InboxSource {
  readonly connection: ServedConnection;
  readonly codec: Codec;
  readonly maxMessageBytes: number;
  pause(): void;
  resume(): void;
}

export class Inbox {
  /** Frames of a message whose first frames have been served. */
  #frames: readonly unknown[] = [];
  /** Messages after it. A paused side receives a bounded number: a chunk of a socket, the window of a channel. */
  #messages: InboxMessage[] = [];
  #isResting = false;
  #waitsForTurn = false;

  constructor(
    readonly reader: InboxSource,
    readonly turns: ClientTurns,
  ) {}

  /** Whether no more is to be read now. */
  get isHeld(): boolean {
    return this.#isResting || this.#waitsForTurn;
  }

  /** A message has come. */
  receive(data: Buffer, isBinary: boolean): void {
    const message = { data, isBinary };
    if (!this.isHeld && !this.reader.connection.crowds) {
      this.#serve(message);
      return;
    }
    this.#messages.push(message);
    if (!this.isHeld) this.#wait();
  }

  /** Serves nothing for so long. */
  rest(ms: number): void {
    this.#isResting = true;
    this.reader.pause();
    after(ms, () => {
      this.#isResting = false;
      this.#goOn();
    });
  }

  /** The connection has ended: what has come is dropped. */
  end(): void {
    this.#frames = [];
    this.#messages = [];
  }

  #wait(): void {
    this.#waitsForTurn = true;
    this.reader.pause();
    this.turns.take(this.reader.connection.client, () => {
      this.#waitsForTurn = false;
      if (!this.#isResting) this.#turn();
    });
  }

  #turn(): void {
    if (this.#frames.length > 0) this.#frames = this.reader.connection.receive(this.#frames, 0, REQUESTS);
    else {
      const message = this.#messages.shift();
      if (message !== undefined) this.#serve(message, REQUESTS);
    }
    this.#goOn();
  }

  #goOn(): void {
    if (this.isHeld) return;
    if (this.#frames.length + this.#messages.length > 0) this.#wait();
    else this.reader.resume();
  }

  #serve({ data, isBinary }: InboxMessage, most?: number): void {
    const { connection, codec, maxMessageBytes } = this.reader;
    if (data.length > maxMessageBytes) {
      connection.receiveTooLarge();
      return;
    }
    let message: unknown;
    try {
      message = codec.decode(data, isBinary);
    } catch {
      connection.receiveUndecodable();
      return;
    }
    this.#frames = connection.receive(message, data.length, most);
  }
}
