/** Decodes stored values for the results of queries: each document once, however many results have it. */
import { malformed } from '../errors.js';
import type { DocumentValue } from './fields.js';
import type { LiveDocument } from './observer.js';

/** Makes a value and everything in it unchangeable: all results share it. */
function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  for (const member of Object.values(value)) frozen(member);
  return Object.freeze(value);
}

export class Decoder {
  readonly #decoded = new WeakMap<LiveDocument, DocumentValue>();

  /**
   * The document as a frozen value, or its bytes.
   * @param before an earlier state of the document: its value is the result if the text is the same
   * @throws IsochronError FRAME_INVALID for a text that is not JSON
   */
  decode(document: LiveDocument, before?: LiveDocument): DocumentValue {
    const known = this.#decoded.get(document) ?? this.#unchanged(document, before);
    const value = known === undefined ? decoded(document) : known;
    this.#decoded.set(document, value);
    return value;
  }

  #unchanged({ value }: LiveDocument, before: LiveDocument | undefined): DocumentValue | undefined {
    return before !== undefined && before.value === value ? this.#decoded.get(before) : undefined;
  }
}

function decoded({ value }: LiveDocument): DocumentValue {
  if (typeof value !== 'string') return new Uint8Array(value);
  try {
    return frozen(JSON.parse(value));
  } catch (cause) {
    throw malformed('a document that is not JSON', cause);
  }
}
