import type { Content } from '../ids.js';
import { Fold } from './fold.js';
import { Update } from './update.js';

/** What a transaction stores that made one write of a key and then an update of it (F5). */
export function compose(older: Content, newer: Update): Content {
  if (older instanceof Update) return joined(older.operations, newer);
  if (older === null) return joined('[{"op":"remove","path":""}]', newer);
  if (typeof older === 'string') return joined(`[{"op":"set","path":"","value":${older}}]`, newer);
  return composeBytes(older, newer);
}

/** Operations cannot hold bytes. Those that change bytes replace them, as they replace null. */
function composeBytes(older: Uint8Array, newer: Update): Content {
  const fold = new Fold(older);
  fold.apply(newer);
  return fold.result() instanceof Uint8Array ? older : joined('[{"op":"set","path":"","value":null}]', newer);
}

const joined = (operations: string, { operations: more }: Update): Update =>
  new Update(`${operations.slice(0, operations.lastIndexOf(']'))},${more.slice(more.indexOf('[') + 1)}`);
