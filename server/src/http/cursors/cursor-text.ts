/** Cursors as texts: a list of fields, with the number of its form in front. They carry no MAC. */
import { IsochronError } from '@isochron/core';

const FORM = 1;

export const cursorText = (fields: readonly unknown[]): string =>
  Buffer.from(JSON.stringify([FORM, ...fields])).toString('base64url');

/**
 * The fields of a cursor, which are to be checked.
 * @throws IsochronError `CURSOR_INVALID`
 */
export function cursorFields(text: string, count: number, advice: string): unknown[] {
  let fields: unknown;
  try {
    fields = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch (cause) {
    throw damagedCursor(advice, cause);
  }
  if (!Array.isArray(fields) || fields.length !== count + 1 || fields[0] !== FORM) throw damagedCursor(advice);
  return fields.slice(1);
}

export const damagedCursor = (advice: string, cause?: unknown): IsochronError =>
  new IsochronError('CURSOR_INVALID', `The cursor is damaged. ${advice}`, { cause });
