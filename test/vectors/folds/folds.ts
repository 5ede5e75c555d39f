/** `folds.json`: documents, the updates after them, and what both give. */

import { toBase64 } from '@isochron/client/encoding';
import { type Content, HLC_TICKS_PER_MS, IsochronError, type Value } from '@isochron/core';
import { compose } from '@isochron/core/updates/compose';
import { Fold } from '@isochron/core/updates/fold';
import { parseOperations } from '@isochron/core/updates/operations';
import { Update } from '@isochron/core/updates/update';
import { type DrawnFold, drawFolds } from './draw.js';
import { EDGES, LARGE } from './edges.js';

export const DRAWN_FOLDS = 2400;

/** A text as it is, or in parts `[text, times]`; bytes as base64; null without a document. */
type Shown = string | { readonly parts: readonly (readonly [string, number])[] } | { readonly bytes: string } | null;

export const folds = (seed: number): object => ({
  seed,
  folds: [...EDGES, ...drawFolds(seed, DRAWN_FOLDS), ...LARGE].map(foldOf),
});

function foldOf(drawn: DrawnFold, index: number): object {
  const updates = drawn.updates.map((operations, i) => ({ operations, ...versionOf(index, i) }));
  const fold = new Fold(drawn.base, BASE);
  const results = updates.map(({ operations, at }) => {
    fold.apply(new Update(operations), at);
    return { result: shown(fold.result()), ...(fold.origin === undefined ? {} : { origin: fold.origin }) };
  });
  return {
    base: shown(drawn.base),
    updates: updates.map(({ operations, at }, i) => ({
      operations: shown(operations),
      ...(at === undefined ? {} : { at }),
      valid: isValid(operations),
      ...results[i],
    })),
    composed: shown(composed(drawn)),
  };
}

/** The version of the document. */
const BASE = { ts: 5 * HLC_TICKS_PER_MS, txId: 'base' };

/** Some updates are not committed yet. */
const versionOf = (fold: number, update: number): { readonly at?: { readonly ts: number; readonly txId: string } } =>
  (fold + update) % 7 === 0 ? {} : { at: { ts: (fold + 10) * HLC_TICKS_PER_MS + update, txId: `tx-${update}` } };

function isValid(operations: string): boolean {
  try {
    parseOperations(operations);
    return true;
  } catch {
    return false;
  }
}

/** What a transaction stores that puts the document and then makes all updates that are not refused. */
function composed({ base, updates }: DrawnFold): Value | null {
  const valid = updates.filter(isValid).map((operations) => new Update(operations));
  const content = valid.reduce<Content>(followed, base);
  return content instanceof Update ? content.operations : content;
}

/** An update that exceeds the limit of operations is refused, and leaves the write as it was. */
export function followed(older: Content, newer: Update): Content {
  try {
    return compose(older, newer);
  } catch (error) {
    if (error instanceof IsochronError && error.code === 'UPDATE_INVALID') return older;
    throw error;
  }
}

function shown(value: Value | null): Shown {
  if (value === null) return null;
  if (value instanceof Uint8Array) return { bytes: toBase64(value) };
  if (value.length < 5000) return value;
  const runs = value.split(/(x{1000,})/).filter((part) => part !== '');
  return { parts: runs.map((part) => (part.startsWith('xx') ? ['x', part.length] : [part, 1])) };
}
