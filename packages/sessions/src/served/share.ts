/** A connection's use of its client's share of the node: frames and bytes, and the consequences of refusals. */
import type { ErrorFrame } from '@isochron/wire/session-frames';
import type { RawFrame } from './frames.js';
import type { Serving } from './serving.js';

/**
 * How long a connection that causes too many refusals is not read from, ms, on average: from half to one and a half of
 * it, so that the connections of a client do not come back together. Shorter than any client's patience.
 */
const REST_MS = 500;
/** So many rests with less than this time in between end the connection. */
const MAX_RESTS = 60;
const FORGIVEN_AFTER_MS = 10_000;
/** Requests that end something, or show that a side is there. */
const RELEASES: ReadonlySet<unknown> = new Set(['abort', 'ping', 'authenticate']);
const RATE_DETAIL = 'This client has used its share of the node for now.';
const MEMORY_DETAIL = 'The node has more work than it can do. Repeat the request later, or elsewhere.';

export type RefusedFields = Omit<ErrorFrame, 'type' | 'id'>;

const OVERLOADED: RefusedFields = { code: 'OVERLOADED', detail: MEMORY_DETAIL, retryable: true };

/** The node's measure against a client that does not wait: to read nothing for a while, or to end the connection. */
export type Measure = { readonly restMs: number } | 'close';

export class Share {
  #nowMs = 0;
  /** Bytes of answers that are not counted yet. */
  #bytes = 0;
  /** How long the frames of the message that has come have to wait for the client's bytes. */
  #bytesMs = 0;
  #rests = 0;
  #restedAtMs = Number.NEGATIVE_INFINITY;
  #restMs = 0;

  constructor(
    readonly serving: Serving,
    /** The holder of the share. */
    readonly client: string,
    /** From 0, below 1. */
    readonly random: () => number,
  ) {}

  /** Whether the client has used most of it. */
  get isScarce(): boolean {
    const { rates } = this.serving;
    return rates.isScarce(this.client, rates.steady());
  }

  /** A message of so many bytes has come. */
  received(bytes: number): void {
    const { rates } = this.serving;
    this.#nowMs = rates.steady();
    this.#bytesMs = rates.useBytes(this.client, bytes + this.#bytes, this.#nowMs);
    this.#bytes = 0;
  }

  /** An answer of so many bytes was made. */
  answered(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Why a request of the message that has come is not served; undefined if it is. Hot, and makes no error objects. */
  refusal(frame: RawFrame): RefusedFields | undefined {
    const { rates, isOverloaded } = this.serving;
    const releases = RELEASES.has(frame.type);
    if (isOverloaded && !releases) {
      this.serving.reached.reached('memory');
      return OVERLOADED;
    }
    const retryAfterMs = releases
      ? rates.takeAbove(this.client, this.#nowMs)
      : rates.take(this.client, requestsIn(frame), this.#nowMs, this.#bytesMs);
    return retryAfterMs === 0
      ? undefined
      : { code: 'RATE_LIMITED', detail: RATE_DETAIL, retryable: true, retryAfterMs };
  }

  /** A request was refused. Every refusal costs the node an answer, which clients that wait seldom need. */
  refused(): Measure | undefined {
    const now = this.#nowMs;
    if (!this.serving.rates.refuse(this.client, now)) return undefined;
    const sinceMs = now - this.#restedAtMs;
    if (sinceMs < this.#restMs) return undefined;
    this.#rests = sinceMs > FORGIVEN_AFTER_MS ? 1 : this.#rests + 1;
    this.#restedAtMs = now;
    this.#restMs = REST_MS * (0.5 + this.random());
    return this.#rests > MAX_RESTS ? 'close' : { restMs: this.#restMs };
  }
}

/** A read or commit of many keys costs as much as many requests. The fields are not checked yet. */
export function requestsIn({ keys, writes }: RawFrame): number {
  const items = keys ?? writes;
  return Array.isArray(items) && items.length > 1 ? items.length : 1;
}
