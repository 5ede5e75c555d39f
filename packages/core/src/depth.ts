/** How deeply documents may be nested: checked on their text, before it is parsed. */

/** Most levels of arrays and objects within each other in a document: `[[1]]` has two. */
export const MAX_DOCUMENT_DEPTH = 128;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Whether a JSON text has more levels than `limit`. Stops at the first level above it; the parser reports text that is
 * not JSON.
 */
export function nestedTooDeeply(text: string, limit = MAX_DOCUMENT_DEPTH): boolean {
  // Every level has a bracket at each end.
  if (text.length <= 2 * limit) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // `[` and `{` differ in one bit, as `]` and `}` do.
    const bracket = code & ~0x20;
    if (bracket === 0x5b) {
      depth++;
      if (depth > limit) return true;
    } else if (bracket === 0x5d) depth--;
    else if (code === QUOTE) i = endOfString(text, i + 1);
  }
  return false;
}

/** The position of the quote that ends a string. */
function endOfString(text: string, from: number): number {
  for (let i = from; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) return i;
    if (code === BACKSLASH) i++;
  }
  return text.length;
}
