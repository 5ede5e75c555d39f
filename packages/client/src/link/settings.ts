import type { Codec } from './codec.js';

/** What connections and requests of a client go by. */
export interface LinkSettings {
  readonly requestTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly codec: Codec;
}
