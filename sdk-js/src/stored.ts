/** Documents in their stored form, for tools that copy them. Not part of the bundle for apps. */
import { type MergedPage, mergedPage } from '@isochron/client/session/listing';
import type { Value } from '@isochron/core/ids';
import type { Snapshot } from './api/snapshot.js';

/** A key and its stored value: the text of a document, or bytes. */
export type StoredEntry = readonly [key: string, value: Value];

/** Pages of the entries below a prefix, in key order. Throws the errors of a listing. */
export async function* storedPages(
  { source, scope }: Pick<Snapshot, 'source' | 'scope'>,
  prefix: string,
  limit: number,
): AsyncGenerator<readonly StoredEntry[]> {
  const handle = source.handle()!.id;
  const { keyspace } = scope;
  for (let start: string | null = ''; start !== null; ) {
    const call = { f: 'list', merge: mergedPage, handle, request: { keyspace, prefix, start, limit } } as const;
    const page: MergedPage = await source.driver.call(call, undefined);
    yield page.entries;
    start = page.next;
  }
}
