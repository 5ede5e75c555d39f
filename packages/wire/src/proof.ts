import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

/** Bytes of a handshake's nonce. */
export const NONCE_BYTES = 32;

/** AES-256 in a mode that authenticates. A key seals one message, so its initialisation vector need not differ. */
const CIPHER = 'aes-256-gcm';
const IV = Buffer.alloc(12);
const TAG_BYTES = 16;

/** A fresh nonce. */
export const randomNonce = (): Uint8Array => randomBytes(NONCE_BYTES);

/**
 * The key with which one side of one handshake seals its identity: HMAC-SHA256 of the secret over a label, which
 * differs per role so that a message cannot be sent back to its maker, and over both hello messages as they travelled.
 * These hold both nonces; each is preceded by its length, so that no two transcripts have the same bytes.
 */
export function sealingKey(
  secret: string | Uint8Array,
  label: string,
  initiatorHello: Uint8Array,
  acceptorHello: Uint8Array,
): Uint8Array {
  const mac = createHmac('sha256', secret);
  for (const part of [Buffer.from(label), initiatorHello, acceptorHello]) {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(part.length);
    mac.update(length).update(part);
  }
  return mac.digest();
}

/** Encrypts bytes, which also proves possession of the key. For one message with each key. */
export function seal(key: Uint8Array, bytes: Uint8Array): Uint8Array {
  const cipher = createCipheriv(CIPHER, key, IV);
  return new Uint8Array(Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]));
}

/** The bytes sealed with this key; undefined for any other input. */
export function unseal(key: Uint8Array, sealed: Uint8Array): Uint8Array | undefined {
  if (sealed.length < TAG_BYTES) return undefined;
  const end = sealed.length - TAG_BYTES;
  const decipher = createDecipheriv(CIPHER, key, IV, { authTagLength: TAG_BYTES }).setAuthTag(sealed.subarray(end));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()]);
  } catch {
    return undefined;
  }
}
