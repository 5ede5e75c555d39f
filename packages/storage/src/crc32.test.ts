import * as zlib from 'node:zlib';
import { crc32Portable } from './crc32.js';

it('the portable CRC-32 agrees with the published check value and with zlib', () => {
  const bytes = Buffer.from('123456789');
  expect(crc32Portable(bytes)).toBe(0xcbf43926);
  expect(crc32Portable('6789', crc32Portable('12345'))).toBe(0xcbf43926);
  if (typeof zlib.crc32 === 'function') expect(crc32Portable('é😀', 7)).toBe(zlib.crc32('é😀', 7));
});
