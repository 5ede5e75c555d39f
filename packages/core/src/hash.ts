/**
 * 32-bit FNV-1a over the UTF-8 bytes of a string, then the finaliser of MurmurHash3 to spread the low bits.
 * Part of the placement, so it never changes: every SDK and server computes the same partition from it.
 */
export function hashKey(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code < 0x80) {
      h = Math.imul(h ^ code, 0x01000193);
      continue;
    }
    if (code >= 0xd800 && code < 0xdc00 && i + 1 < text.length) {
      code = 0x10000 + ((code - 0xd800) << 10) + (text.charCodeAt(++i) - 0xdc00);
    }
    if (code < 0x800) h = Math.imul(h ^ (0xc0 | (code >> 6)), 0x01000193);
    else {
      if (code < 0x10000) h = Math.imul(h ^ (0xe0 | (code >> 12)), 0x01000193);
      else {
        h = Math.imul(h ^ (0xf0 | (code >> 18)), 0x01000193);
        h = Math.imul(h ^ (0x80 | ((code >> 12) & 0x3f)), 0x01000193);
      }
      h = Math.imul(h ^ (0x80 | ((code >> 6) & 0x3f)), 0x01000193);
    }
    h = Math.imul(h ^ (0x80 | (code & 0x3f)), 0x01000193);
  }
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
