/**
 * The documents that a reader may see where each of some writes may be there or not. A put or a delete hides all that
 * is below it, and an update appends: so a document that is no beginning of the one that was read can only be hidden,
 * and one such document stands for all. What is left grows with the number of writes, and misses no combination.
 */
import type { Content, StoredVersion, Version } from '@isochron/core';
import { foldOf } from './documents.js';

/** A document with the identity of its newest write; undefined where nothing was written. */
export type Possible = Version | undefined;

/**
 * The folds of versions, oldest first, over each of some documents, with and without each open version. Contains every
 * possible document of which updates can make the one that was read, that one included, and at most one other. The
 * fold of all versions comes first if it is among them.
 */
export function possibleFolds(
  versions: readonly StoredVersion[],
  isOpen: (version: StoredVersion) => boolean,
  read: Content,
  bases: readonly Possible[] = [undefined],
): readonly Possible[] {
  let documents = narrowed(bases, read);
  for (const group of groupsOf(versions, isOpen)) {
    const choices = isOpen(group[0]!) ? [group, group.slice(1)] : [group];
    documents = narrowed(
      choices.flatMap((chosen) => documents.map((below) => foldOf(below === undefined ? chosen : [below, ...chosen]))),
      read,
    );
  }
  return documents;
}

/** Splits versions before each open one. */
function groupsOf(versions: readonly StoredVersion[], isOpen: (version: StoredVersion) => boolean): StoredVersion[][] {
  const groups: StoredVersion[][] = [];
  for (const version of versions) {
    if (groups.length === 0 || isOpen(version)) groups.push([version]);
    else groups.at(-1)!.push(version);
  }
  return groups;
}

/** Each document once that can become the one that was read, and one of those that cannot. */
function narrowed(documents: readonly Possible[], read: Content): readonly Possible[] {
  const left = new Map<string, Possible>();
  for (const document of documents) {
    const name = leadsTo(document?.value ?? null, read) ? nameOf(document) : `${HIDDEN} ${document?.at ?? ''}`;
    if (!left.has(name)) left.set(name, document);
  }
  return [...left.values()];
}

/** The name of the documents that only a put or a delete can make right. */
const HIDDEN = 'hidden';

const nameOf = (document: Possible): string =>
  document === undefined ? '' : `${document.ts} ${document.txId} ${document.region} ${document.value}`;

/** Whether appending can make the document that was read of another one; what is no list is replaced with one. */
const leadsTo = (document: Content, read: Content): boolean =>
  !isList(document) || document === read || (isList(read) && read.startsWith(`${document.slice(0, -1)},`));

const isList = (content: Content): content is string => typeof content === 'string' && content.startsWith('[');
