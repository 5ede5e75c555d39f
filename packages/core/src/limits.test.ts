import fc from 'fast-check';
import { isWellFormed } from './limits.js';

/** Texts of any code units, with many surrogates among them. */
const texts = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd7ff, max: 0xe000 })), { maxLength: 12 })
  .map((units) => String.fromCharCode(...units));

/** Whether UTF-8 keeps a text as it is. */
const survives = (text: string): boolean => Buffer.from(text, 'utf8').toString('utf8') === text;

it('a text is well-formed exactly when UTF-8 keeps it as it is', () => {
  fc.assert(fc.property(texts, (text) => expect(isWellFormed(text)).toBe(survives(text))));
});

it('a platform without a check of its own finds the same texts well-formed', () => {
  const own = Object.getOwnPropertyDescriptor(String.prototype, 'isWellFormed');
  Reflect.deleteProperty(String.prototype, 'isWellFormed');
  try {
    fc.assert(fc.property(texts, (text) => expect(isWellFormed(text)).toBe(survives(text))));
  } finally {
    if (own !== undefined) Object.defineProperty(String.prototype, 'isWellFormed', own);
  }
});
