import type { KeyWrite, PartitionId, PreparedRecord, Topology } from '@isochron/core';
import type { Maps } from '../maps/maps.js';
import type { CommitIdentity, PrepareReq } from './messages.js';

const DELETE = -2;
/** Marks operations: no text and no bytes are so long that their length gives it. */
const UPDATE = 0x7fffffff;

const PRIME = 0x01000193;
/** What the second lane adds to each number. */
const OFFSET = 0x9e37;

/**
 * Two lanes of 32-bit FNV-1a with different offsets: 64 bits, enough to notice that an id was used for other writes.
 */
class Digest {
  #a = 0x811c9dc5 | 0;
  #b = 0x050c5d1f;

  number(n: number): void {
    this.#a = Math.imul(this.#a ^ n, PRIME);
    this.#b = Math.imul(this.#b ^ (n + OFFSET), PRIME);
  }

  // Lanes in variables: a field that is written for each character takes three times as long.
  text(text: string): void {
    this.number(text.length);
    let [a, b] = [this.#a, this.#b];
    for (let i = 0; i < text.length; i++) {
      const n = text.charCodeAt(i);
      a = Math.imul(a ^ n, PRIME);
      b = Math.imul(b ^ (n + OFFSET), PRIME);
    }
    [this.#a, this.#b] = [a, b];
  }

  bytes(bytes: Uint8Array): void {
    this.number(-1 - bytes.length);
    let [a, b] = [this.#a, this.#b];
    for (let i = 0; i < bytes.length; i++) {
      const n = bytes[i]!;
      a = Math.imul(a ^ n, PRIME);
      b = Math.imul(b ^ (n + OFFSET), PRIME);
    }
    [this.#a, this.#b] = [a, b];
  }

  update(operations: string): void {
    this.number(UPDATE);
    this.text(operations);
  }

  toString(): string {
    return (this.#a >>> 0).toString(36) + (this.#b >>> 0).toString(36);
  }
}

/** Digest of a cohort's slice and the principal who sent it (P8). */
export function digestWrites(writes: readonly KeyWrite[], principal: string): string {
  const digest = new Digest();
  digest.text(principal);
  for (const { key, value } of writes) {
    digest.text(key);
    if (value === null) digest.number(DELETE);
    else if (typeof value === 'string') digest.text(value);
    else if (value instanceof Uint8Array) digest.bytes(value);
    else digest.update(value.operations);
  }
  return digest.toString();
}

/** The digest of a prepare. */
export const digestOf = ({ digest, writes, principal }: PrepareReq): string =>
  digest ?? digestWrites(writes, principal);

/**
 * The slice's digest and the identity's, so that a retry with other writes, and one with another list, can be
 * recognised.
 */
export const fullDigest = (
  slice: string,
  { home, map, cohorts, avoid = [] }: Pick<CommitIdentity, 'home' | 'map' | 'cohorts' | 'avoid'>,
): string => `${slice}:${home}:${map}:${cohorts.join(',')}${avoid.map((region) => `:-${region}`).join('')}`;

/** The slice's part of it. */
export const sliceOf = (digest: string): string => digest.slice(0, digest.indexOf(':'));

/**
 * Whether a digest names the cohorts of this identity. A write may be repeated after the map has changed: it is the
 * same attempt where both maps give the same cohorts.
 */
export function sameCohorts(digest: string, identity: CommitIdentity, maps: Maps): boolean {
  if (digest.endsWith(fullDigest('', identity))) return true;
  const stored = cohortsIn(digest);
  if (stored.map === identity.map || stored.cohorts.join() !== identity.cohorts.join()) return false;
  const [before, now] = [maps.at(stored.map), maps.at(identity.map)];
  const nodeIn = (topology: Topology, partition: PartitionId, { home, avoid }: typeof stored) =>
    topology.cohort(partition, home, avoid).node;
  return (
    before !== undefined &&
    now !== undefined &&
    identity.cohorts.every((partition) => nodeIn(before, partition, stored) === nodeIn(now, partition, identity))
  );
}

/** The part that names the cohorts. */
export function cohortsIn(digest: string): Pick<PreparedRecord, 'home' | 'map' | 'cohorts' | 'avoid'> {
  const [, home = '', map, cohorts = '', ...avoid] = digest.split(':');
  return {
    home,
    map: Number(map),
    cohorts: cohorts.split(',').map(Number),
    avoid: avoid.map((region) => region.slice(1)),
  };
}
