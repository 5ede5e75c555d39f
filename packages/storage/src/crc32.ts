import * as zlib from 'node:zlib';

const TABLE = new Int32Array(256);
for (let i = 0; i < 256; i++) {
  let c = i;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  TABLE[i] = c;
}

/** CRC-32 as in zlib, for a Node without `zlib.crc32`; `before` is that of the bytes in front. */
export function crc32Portable(content: Uint8Array | string, before = 0): number {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  let c = ~before;
  for (let i = 0; i < bytes.length; i++) c = (c >>> 8) ^ TABLE[(c ^ bytes[i]!) & 0xff]!;
  return ~c >>> 0;
}

/** CRC-32; `before` is that of the bytes in front, or a seed. Node 20 has it from 20.15 on. */
export const crc32: (content: Uint8Array | string, before?: number) => number =
  typeof zlib.crc32 === 'function' ? zlib.crc32 : crc32Portable;
