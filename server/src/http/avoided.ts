/**
 * The regions that a write over HTTP avoids, as part of its transaction id. A repetition through any node has only the
 * id, and has to be the same attempt with the same cohorts (D4): so the id names the regions that did not answer the
 * node that made it. An id that a client made avoids no region.
 */
import type { RegionId, Topology, TxId } from '@isochron/core';

/**
 * The form: 22 characters of a random part, then the mark and the regions as bits of a number in base 36, in the order
 * of the cluster file.
 */
const AVOIDING = /^[A-Za-z0-9_-]{22}-A([0-9a-z]{1,9})\./;
const MARK = '-A';
const MARK_AT = 22;
/** More regions do not fit in the number. */
const MAX_REGIONS = 40;

/** The part of a new id for this random part and these regions to avoid. */
export function avoidingPart(random: string, avoid: readonly RegionId[], { regions }: Topology): string {
  const named = regions.slice(0, MAX_REGIONS).filter((region) => avoid.includes(region));
  if (named.length === 0 || named.length === regions.length) return random;
  const bits = named.reduce((sum, region) => sum + 2 ** regions.indexOf(region), 0);
  return `${random}${MARK}${bits.toString(36)}`;
}

/** The regions that a transaction of this id avoids, sorted. A pure function of both. */
export function avoidedBy(txId: TxId, { regions }: Topology): readonly RegionId[] {
  const text = txId.startsWith(MARK, MARK_AT) ? AVOIDING.exec(txId)?.[1] : undefined;
  if (text === undefined) return [];
  const bits = Number.parseInt(text, 36);
  return regions.filter((_, i) => i < MAX_REGIONS && Math.floor(bits / 2 ** i) % 2 === 1).sort();
}
