import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { Hmac, sha256Portable } from './hmac.js';

describe('the MAC of tokens', () => {
  it('the MAC of a token is HMAC-SHA256, whatever was signed before, on every Node', () => {
    const message = fc.uint8Array({ maxLength: 2000 });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), fc.array(message, { minLength: 1 }), (key, messages) => {
        const [hmac, portable] = [new Hmac(key), new Hmac(key, sha256Portable)];
        for (const each of messages) {
          const expected = createHmac('sha256', key).update(each).digest('binary');
          expect([hmac.of(each), portable.of(each)]).toEqual([expected, expected]);
        }
      }),
    );
  });

  it('the key of a MAC is refused where HMAC would have to hash it first', () => {
    expect(() => new Hmac(new Uint8Array(65))).toThrow(RangeError);
  });
});
