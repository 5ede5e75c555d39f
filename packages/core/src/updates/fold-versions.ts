import { type StoredVersion, timeOf, type Version } from '../ids.js';
import { Fold } from './fold.js';
import { Update } from './update.js';

/**
 * The fold of versions of a key, oldest first, over the fold of all versions below them (F1). A late put or delete has
 * no effect on a document whose last change has a later time (F9). Where there is no document, every write has its
 * effect: collection drops tombstones, and the fold is the same before and after.
 *
 * @param versions at least one
 */
export function foldVersions(base: Version | undefined, versions: readonly StoredVersion[]): Version {
  let fold = new Fold(base?.value ?? null, base && (base.origin ?? base));
  let changedAt = base === undefined ? 0 : timeOf(base);
  for (const version of versions) {
    const { ts, txId, value } = version;
    const time = timeOf(version);
    if (fold.origin === undefined) changedAt = 0;
    if (value instanceof Update) fold.apply(value, { ts, txId });
    else if (time >= changedAt) fold = new Fold(value, { ts, txId });
    changedAt = Math.max(changedAt, time);
  }
  const newest = versions.at(-1)!;
  const { origin } = fold;
  const isOwn = origin === undefined || (origin.ts === newest.ts && origin.txId === newest.txId);
  const at = changedAt === newest.ts ? undefined : changedAt;
  return { ...newest, value: fold.result(), at, ...(isOwn ? {} : { origin: { ts: origin.ts, txId: origin.txId } }) };
}
