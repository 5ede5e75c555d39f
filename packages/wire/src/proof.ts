import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Bytes of a handshake's nonce. */
export const NONCE_BYTES = 32;
/** Bytes of a proof. */
export const PROOF_BYTES = 32;

/** A fresh nonce. */
export const randomNonce = (): Uint8Array => randomBytes(NONCE_BYTES);

/**
 * Proof of knowing the secret: HMAC-SHA256 over a label, which differs per role so that a proof cannot be sent back to
 * its maker, and over both hello messages as they travelled. These hold both nonces, node ids, versions and hashes; each is
 * preceded by its length, so that no two transcripts have the same bytes.
 */
export function proofOf(
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

/** Compares in a time that does not tell where the first difference is. */
export const sameProof = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b);
