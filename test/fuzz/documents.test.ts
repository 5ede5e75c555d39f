/** Every reader of a document finds the same in it, or no door takes it (F8, a document has one form). */
import { Decoder } from '@isochron/client/live/decoder';
import { DEFAULT_LIMITS, Fold, IsochronError, readDocument, Update } from '@isochron/core';
import { decodeDocument, encodeDocument } from '@isochron/sdk/documents';
import { pack, unpack } from '@isochron/wire/msgpack';
import fc from 'fast-check';
import { JudgedReads } from '../../packages/sessions/src/access/reads.js';
import { parseRow, storedLine } from '../../server/src/cli/data/rows.js';
import { given } from '../vectors/folds/draw.js';
import { fuzz } from './fuzz.js';

/** JSON in any spelling, with a piece of it lost, doubled or replaced in some of the texts. */
const text = fc
  .tuple(given, fc.nat(), fc.nat(3), fc.constantFrom('', '', '', '0', '9', 'e', '"', ',', '\\', '\\ud8', ' ', '\ud800'))
  .map(([whole, at, length, piece]) => {
    if (piece === '') return whole;
    const start = at % (whole.length + 1);
    return whole.slice(0, start) + piece + whole.slice(start + length);
  });

/** The normal form, or the place of the fault. */
function atTheDoor(given: string): { readonly stored: string } | { readonly fault: string } {
  try {
    return { stored: readDocument(given).text };
  } catch (error) {
    if (error instanceof IsochronError && error.code === 'VALUE_INVALID') return { fault: error.message };
    throw error;
  }
}

const STRING = /"(?:[^"\\]|\\.)*"/gs;

/** I-JSON by other means than those of the door: counts of members, and arithmetic with whole numbers of any size. */
function isDocument(text: string): boolean {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return false;
  }
  const bare = text.replaceAll(STRING, '""');
  const members = bare.split(':').length - 1;
  const numbers = [...bare.matchAll(/-?\d[\d.eE+-]*/g)].map(([number]) => number);
  return (
    members === membersOf(value) &&
    numbers.every(isKept) &&
    Buffer.from(everyText(value)).toString() === everyText(value)
  );
}

function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value).reduce<number>((sum, member) => sum + membersOf(member), 0);
  return inner + (Array.isArray(value) ? 0 : Object.keys(value).length);
}

function everyText(value: unknown): string {
  if (typeof value === 'string') return `${value}\n`;
  if (typeof value !== 'object' || value === null) return '';
  return Object.entries(value)
    .map(([name, member]) => `${name}\n${everyText(member)}`)
    .join('');
}

/** Whether the decimal of a double is the number where that is whole, and not zero or infinity in any case. */
function isKept(literal: string): boolean {
  const double = Number(literal);
  const [mantissa = '', exponent = '0'] = literal.toLowerCase().split('e');
  if (double === 0) return !/[1-9]/.test(mantissa);
  if (!Number.isFinite(double)) return false;
  const scaled = scaledBy(mantissa, Number(exponent));
  const written = String(double).split('e');
  return scaled === undefined || scaled === scaledBy(written[0]!, Number(written[1] ?? '0'));
}

/** The whole number `mantissa * 10 ** exponent`; undefined for a fraction. */
function scaledBy(mantissa: string, exponent: number): bigint | undefined {
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = BigInt(whole + fraction);
  const power = exponent - fraction.length;
  if (power >= 0) return digits * 10n ** BigInt(power);
  const divisor = 10n ** BigInt(-power);
  return digits % divisor === 0n ? digits / divisor : undefined;
}

describe('the readers of documents', () => {
  fuzz('a door takes exactly the texts that are I-JSON', 3000, [text], (given) => {
    expect(['stored' in atTheDoor(given), given]).toEqual([isDocument(given), given]);
  });

  fuzz('a refusal names a place that the text has, in one line', 1000, [text], (given) => {
    const door = atTheDoor(given);
    if ('fault' in door) expect(door.fault).toMatch(/^document(?:\/[^\n]*)?: [^\n]+$/);
  });

  fuzz('every reader finds the stored text and its value in a document that a door took', 2000, [text], (given) => {
    const door = atTheDoor(given);
    if (!('stored' in door)) return;
    const { stored } = door;
    const value: unknown = JSON.parse(given);
    const { value: kept } = readDocument(stored);
    expect(stored).not.toMatch(/[\n\r]/);
    expect(JSON.stringify(value)).toBe(stored);
    expect(JSON.stringify(kept)).toBe(stored);
    expect(JSON.stringify(decodeDocument(stored))).toBe(stored);
    expect(encodeDocument(decodeDocument(stored), DEFAULT_LIMITS)).toBe(stored);
    expect(JSON.stringify(new Decoder().decode({ value: stored } as never))).toBe(stored);
    expect(JSON.stringify(new JudgedReads({ get: () => null }, []).value(stored))).toBe(stored);
    expect(unpack(Buffer.from(pack(stored)))).toBe(stored);
    expect(JSON.stringify(parseRow(storedLine('a', stored), 1).document)).toBe(stored);
    expect(folded(stored, '[{"op":"remove","path":"/no such member"}]')).toBe(stored);
    expect(folded('{}', `[{"op":"set","path":"","value":${stored}}]`)).toBe(stored);
    expect(folded(null, `[{"op":"init","value":${stored}}]`)).toBe(stored);
  });
});

function folded(base: string | null, operations: string): unknown {
  const fold = new Fold(base);
  fold.apply(new Update(operations));
  return fold.result();
}
