/**
 * The fold: a document and the updates after it, in their order, give one document (F1). It is total and pure:
 * replicas, sessions and SDKs get the same bytes from the same versions. `docs/updates.md` has the meaning of every
 * operation.
 */
import { HLC_EPOCH_MS, HLC_TICKS_PER_MS } from '../hlc.js';
import type { Origin, Value } from '../ids.js';
import { mergePatch } from '../merge-patch.js';
import { OPAQUE, parseDocument, sizeOf } from './documents.js';
import { ItemSet, missingFrom } from './items.js';
import { type Operation, parseOperations } from './operations.js';
import { appendItems, type Edit, namesOf, Place, removeItems } from './places.js';
import type { Update } from './update.js';

/**
 * Bytes of JSON text to which updates let a document grow, on every replica: an operation that would exceed it has no
 * effect. Storing a whole document (`set` without a path, `init`) is limited as a put is.
 */
export const MAX_FOLDED_BYTES = 2 ** 20;

/**
 * No document has more bytes for each character of its stored text, and no operation adds more for each of its own: a
 * character of a path may become an object.
 */
const MAX_BYTES_PER_CHARACTER = 6;

/** The document is the member with the empty name of an object: an absent document is an absent member. */
interface Root {
  [document: string]: unknown;
}
const ROOT_BYTES = sizeOf({ '': 0 }) - 1;

/** Folds updates into a document. */
export class Fold {
  /** The result if it is known. */
  #result: Value | null | undefined;
  readonly #base: Value | null;
  #root: Root | undefined;
  /** At least the size of the document; `#size` is exact, once the bound exceeds the limit. */
  #bound: number;
  #size: number | undefined;
  #origin: Origin | undefined;

  /** @param origin the version of the base, or what made its document */
  constructor(base: Value | null, origin?: Origin) {
    this.#base = base;
    this.#result = base;
    this.#bound = MAX_BYTES_PER_CHARACTER * (base?.length ?? 0);
    this.#origin = base === null ? undefined : origin;
  }

  /**
   * The version that made the present document: the put, the `set` of a whole document, or the first update where there
   * was none. Undefined without a document, and for a write that is not committed.
   */
  get origin(): Origin | undefined {
    return this.#origin;
  }

  /**
   * Applies the next update in the order of versions. Operations that validation refuses have no effect.
   * @param at the update's version; undefined before its commit, when `serverTimestamp` stores null
   */
  apply({ operations }: Update, at?: Origin): void {
    this.#root ??= rootOf(this.#base);
    this.#result = undefined;
    this.#bound += MAX_BYTES_PER_CHARACTER * operations.length;
    for (const operation of validOperations(operations)) this.#perform(this.#root, operation, at);
  }

  /** The document as JSON text, the bytes of a base that no operation replaced, or null without a document. */
  result(): Value | null {
    if (this.#result === undefined) this.#result = this.#written(this.#root?.['']);
    return this.#result;
  }

  #written(document: unknown): Value | null {
    if (document === OPAQUE) return this.#base;
    return document === undefined ? null : JSON.stringify(document);
  }

  #perform(root: Root, operation: Operation, at: Origin | undefined): void {
    const edit = editOf(root, operation, at);
    const isWhole = operation.op === 'init' || (operation.op === 'set' && operation.path === '');
    if (edit === undefined || !this.#fits(root, edit, isWhole)) return;
    const wasAbsent = root[''] === undefined;
    edit.make();
    if (root[''] === undefined) this.#origin = undefined;
    else if (wasAbsent || isWhole) this.#origin = at;
  }

  /** Whether the document with the edit is within the limit. Counts the edit then. */
  #fits(root: Root, edit: Edit, isWhole: boolean): boolean {
    if (this.#bound <= MAX_FOLDED_BYTES) return true;
    const size = this.#size ?? sizeOfRoot(root);
    const growth = edit.growth();
    const fits = growth <= 0 || isWhole || size + growth <= MAX_FOLDED_BYTES + ROOT_BYTES;
    this.#size = fits ? size + growth : size;
    return fits;
  }
}

const rootOf = (base: Value | null): Root => (base === null ? {} : { '': parseDocument(base) });

const sizeOfRoot = (root: Root): number => (root[''] === undefined ? sizeOf({}) : ROOT_BYTES + sizeOf(root['']));

/** None for a text that no door stores: the fold of anything that a disk or a peer gives has a result. */
function validOperations(text: string): readonly Operation[] {
  try {
    return parseOperations(text);
  } catch {
    return [];
  }
}

/** The change that an operation makes; undefined if it has no effect. */
function editOf(root: Root, operation: Operation, at: Origin | undefined): Edit | undefined {
  const path = operation.op === 'init' ? '' : operation.path;
  const place = Place.find(root, ['', ...namesOf(path)]);
  if (place === undefined) return undefined;
  const { value } = place;
  switch (operation.op) {
    case 'set':
      return place.put(operation.value);
    case 'remove':
      return value === undefined ? undefined : place.remove();
    case 'init':
      return value === undefined ? place.put(operation.value) : undefined;
    case 'mergePatch':
      return place.put(mergePatch(value, operation.patch));
    case 'serverTimestamp':
      return place.put(at === undefined ? null : wallMsOf(at));
    case 'increment':
    case 'max':
    case 'min':
      return numberEdit(place, operation);
    case 'arrayUnion':
    case 'arrayRemove':
    case 'append':
      return arrayEdit(place, operation);
  }
}

const wallMsOf = ({ ts }: Origin): number => HLC_EPOCH_MS + Math.floor(ts / HLC_TICKS_PER_MS);

type NumberOperation = Extract<Operation, { readonly op: 'increment' | 'max' | 'min' }>;

function numberEdit(place: Place, operation: NumberOperation): Edit | undefined {
  const given = operation.op === 'increment' ? operation.by : operation.value;
  const { value } = place;
  if (typeof value !== 'number') return place.put(given);
  const next = operation.op === 'increment' ? sumOf(value, given) : Math[operation.op](value, given);
  return next === undefined ? undefined : place.put(next);
}

/** Undefined for a sum beyond the range of doubles, or of a counter that would leave the whole numbers up to 2^53. */
function sumOf(value: number, by: number): number | undefined {
  const sum = value + by;
  const isCounter = Number.isSafeInteger(value) && Number.isSafeInteger(by);
  return (isCounter ? Number.isSafeInteger(sum) : Number.isFinite(sum)) ? sum : undefined;
}

type ArrayOperation = Extract<Operation, { readonly op: 'arrayUnion' | 'arrayRemove' | 'append' }>;

function arrayEdit(place: Place, { op, items }: ArrayOperation): Edit | undefined {
  const { value } = place;
  if (op === 'arrayRemove') {
    if (value === undefined) return undefined;
    return Array.isArray(value) ? removeItems(value, new ItemSet(items)) : place.put([]);
  }
  const array: unknown[] = Array.isArray(value) ? value : [];
  const added = op === 'append' ? items : missingFrom(array, items);
  return Array.isArray(value) ? appendItems(value, added) : place.put([...added]);
}
