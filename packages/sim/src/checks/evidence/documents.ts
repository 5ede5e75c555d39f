/**
 * Documents that updates change in a run. Each write has a text of its own: a put stores a list of it, an update
 * appends it. So a document names every write that it contains, in their order, and its last text names the newest.
 */
import { type Content, Fold, isPlain, type StoredVersion, type Timestamp, Update, type Version } from '@isochron/core';

/** The content of a put, and of an update, of a document. */
export const listOf = (text: string): string => JSON.stringify([text]);
export const appending = (text: string): Update =>
  new Update(JSON.stringify([{ op: 'append', path: '', items: [text] }]));

/** Whether two writes store the same: peers may decode one into another object. */
export const isSameContent = (a: Content, b: Content): boolean =>
  a === b || (a instanceof Update && b instanceof Update && a.operations === b.operations);

/** The text of a content, for messages. */
export const textOf = (content: Content | undefined): string =>
  content instanceof Update ? content.operations : String(content);

/** The write that a content, or the newest one that a document, names; null for a deletion. */
export function writeIn(content: Content): string | null {
  if (content === null) return null;
  const text = textOf(content);
  if (!text.startsWith('[')) return text;
  const last = (JSON.parse(text) as (string | { items: string[] })[]).at(-1)!;
  return JSON.stringify(typeof last === 'string' ? last : last.items.at(-1));
}

/**
 * The fold of versions, oldest first, in the order of `(ct, txId, region)` (F1); undefined without any. A late put or
 * delete has no effect on a document that was changed at a later time (F9).
 */
export function foldOf(versions: readonly StoredVersion[]): Version | undefined {
  const newest = versions.at(-1);
  if (newest === undefined || isPlain(newest)) return newest;
  let fold = new Fold(null);
  let changes: Timestamp[] = [];
  for (const { ts, txId, value, at = ts } of versions) {
    if (fold.result() === null) changes = [];
    if (value instanceof Update) fold.apply(value, { ts, txId });
    else if (!changes.some((time) => time > at)) fold = new Fold(value, { ts, txId });
    changes.push(at);
  }
  const last = Math.max(...changes);
  return { ...newest, value: fold.result(), at: last === newest.ts ? undefined : last };
}
