import type { Codec } from './codec.js';

/** Settings of a client's connections and requests. */
export interface LinkSettings {
  readonly requestTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly codec: Codec;
}
