import type { ClientTimes } from '../times.js';
import type { Codec } from './codec.js';

/** Settings of a client's connections and requests. */
export interface LinkSettings extends ClientTimes {
  readonly codec: Codec;
}
