/** The one form in which a document is stored (F8, a document has one form): what `JSON.stringify` writes. */

/** An escape of half a surrogate pair. Backslashes before it are escapes of a backslash, in pairs. */
const HALF_PAIR = /(?:^|[^\\])(?:\\\\)*\\ud[89a-f]/;

/**
 * Whether a text is the normal form of its value. The normal form of a value with half a surrogate pair, or with a
 * number that is not finite, is no document.
 * @param value what `JSON.parse` returns for the text
 */
export function isNormalForm(text: string, value: unknown): boolean {
  return JSON.stringify(value) === text && !(text.includes('\\ud') && HALF_PAIR.test(text));
}

/** The steps from a document to one of its parts, as text: a JSON Pointer (RFC 6901) behind the name of the whole. */
export const placeIn = (place: string, name: string | number): string =>
  `${place}/${typeof name === 'number' ? name : name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
