/**
 * HMAC-SHA256 (RFC 2104) of short messages under one key. Two hashes in one call each, over memory that is used again,
 * cost a third of `createHmac`, which makes an object of OpenSSL for every MAC.
 */
import * as crypto from 'node:crypto';

const BLOCK_BYTES = 64;
const HASH_BYTES = 32;

/** SHA-256 of bytes: 32 characters, each a byte. */
type Sha256 = (bytes: Uint8Array) => string;

/** For Node before 20.12, which has no hash in one call. */
export const sha256Portable: Sha256 = (bytes) => crypto.createHash('sha256').update(bytes).digest('binary');

const oneCall = (crypto as Partial<typeof crypto>).hash;
const sha256: Sha256 = oneCall === undefined ? sha256Portable : (bytes) => oneCall('sha256', bytes, 'binary');

export class Hmac {
  /** The key's inner pad and the message; its outer pad and the inner hash. */
  #inner: Buffer;
  readonly #outer: Buffer;

  /** @param key at most 64 bytes */
  constructor(
    key: Uint8Array,
    readonly hash = sha256,
  ) {
    if (key.length > BLOCK_BYTES) throw new RangeError('a longer key has to be hashed first');
    this.#inner = Buffer.alloc(4 * BLOCK_BYTES);
    this.#outer = Buffer.alloc(BLOCK_BYTES + HASH_BYTES);
    for (let i = 0; i < BLOCK_BYTES; i++) {
      this.#inner[i] = (key[i] ?? 0) ^ 0x36;
      this.#outer[i] = (key[i] ?? 0) ^ 0x5c;
    }
  }

  /** The MAC of a message: 32 characters, each a byte. */
  of(message: Uint8Array): string {
    const length = BLOCK_BYTES + message.length;
    if (length > this.#inner.length) this.#inner = Buffer.concat([this.#inner], 2 * length);
    this.#inner.set(message, BLOCK_BYTES);
    this.#outer.write(this.hash(this.#inner.subarray(0, length)), BLOCK_BYTES, 'latin1');
    return this.hash(this.#outer);
  }
}
