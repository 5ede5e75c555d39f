/** Limits of one request. A node refuses more with a coded error before it allocates. */
export interface Limits {
  /** UTF-8 bytes of a key. */
  readonly maxKeyBytes: number;
  /** UTF-8 bytes of a JSON document, or bytes of a binary value. */
  readonly maxValueBytes: number;
  /** Keys in one request. */
  readonly maxKeysPerRequest: number;
  /** Bytes of one request's body or frame. */
  readonly maxRequestBytes: number;
}

export const DEFAULT_LIMITS: Limits = {
  maxKeyBytes: 1024,
  maxValueBytes: 1024 * 1024,
  maxKeysPerRequest: 1000,
  maxRequestBytes: 8 * 1024 * 1024,
};

/** UTF-8 length of a string, counted without encoding it. A lone surrogate counts as the three bytes of U+FFFD. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    if (code < 0x800) bytes += 1;
    else if (code >= 0xd800 && code < 0xdc00 && i + 1 < text.length && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      bytes += 2;
      i++;
    } else bytes += 2;
  }
  return bytes;
}

/** Half of a pair: whole pairs are one character under the flag `u`. */
const LONE_SURROGATE = /\p{Surrogate}/u;
/**
 * Whether a string can be written as UTF-8 without loss. The platform's own check, if present, is immediate for a
 * string without wide characters.
 */
export const isWellFormed = (text: string & { isWellFormed?(): boolean }): boolean =>
  text.isWellFormed?.() ?? !LONE_SURROGATE.test(text);
