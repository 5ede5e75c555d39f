import type { Content, Value } from '../ids.js';
import { OPAQUE, parseDocument } from './documents.js';
import { Fold } from './fold.js';
import { checkCount, parseOperations } from './operations.js';
import { Update } from './update.js';

/** The numbers of operations of composed updates, so that many updates of a key are not counted again each time. */
const counts = new WeakMap<Update, number>();

/**
 * What a transaction stores that made one write of a key and then an update of it (F5). A put or a delete counts as one
 * operation.
 * @throws IsochronError UPDATE_INVALID for more operations than one update has
 */
export function compose(older: Content, newer: Update): Content {
  const count = countOf(older) + countOf(newer);
  checkCount(count);
  const both = composed(older, newer);
  if (both instanceof Update) counts.set(both, count);
  return both;
}

const countOf = (content: Content): number =>
  content instanceof Update ? (counts.get(content) ?? parseOperations(content.operations).length) : 1;

function composed(older: Content, newer: Update): Content {
  if (older instanceof Update) return joined(older.operations, newer);
  if (older === null) return joined('[{"op":"remove","path":""}]', newer);
  const document = parseDocument(older);
  return document === OPAQUE ? composeOpaque(older, newer) : joined(stored(document), newer);
}

/** Operations cannot hold bytes. Those that change bytes replace them, as they replace null. */
function composeOpaque(older: Value, newer: Update): Content {
  const fold = new Fold(older);
  fold.apply(newer);
  return fold.result() === older ? older : joined(stored(null), newer);
}

const stored = (document: unknown): string => JSON.stringify([{ op: 'set', path: '', value: document }]);

const joined = (operations: string, { operations: more }: Update): Update =>
  new Update(`${operations.slice(0, operations.lastIndexOf(']'))},${more.slice(more.indexOf('[') + 1)}`);
