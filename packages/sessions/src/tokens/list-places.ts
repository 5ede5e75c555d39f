/**
 * The places at which lists go on under access rules, as texts. A page ends where its work is done, perhaps at a key
 * that its reader must not see. So the place is sealed: AES-256-GCM under a key derived from the cluster secret, which
 * every node of the cluster can open, for the same principal. In front it has the last key that the reader was shown,
 * so that it sorts among keys as a start does:
 *
 *     shown key · U+0000 · number of pages since then, 8 digits · nonce, sealed place and tag as base64url
 */
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { IsochronError, type QualifiedKey } from '@isochron/core';

/** Where a list goes on. */
export interface ListPlace {
  /** The last key that was shown, or the start. */
  readonly shown: QualifiedKey;
  /** Pages since then. */
  readonly pages: number;
  /** The first key to be examined. */
  readonly next: QualifiedKey;
}

const SEALED = /\0([0-9a-f]{8})([A-Za-z0-9_-]{300,})$/;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** A sealed place shows its length in steps of this, in bytes. */
const STEP = 256;
/** Least number of keys that a page examines beside those that it shows, and three times more than that at most. */
const LEAST_WORK = 64;

/** A start without the sealed part of a place. */
export const shownPart = (start: string): string => start.replace(SEALED, '');

export class ListPlaces {
  /** The first one seals. */
  readonly #keys: readonly Buffer[];
  readonly #noise: Buffer;
  #count = 0;

  /** @param secrets of the cluster @param identity differs between clusters and placements */
  constructor(
    secrets: readonly string[],
    readonly identity: string,
  ) {
    this.#keys = secrets.map((secret) => derived(secret, 'isochron list place 1'));
    this.#noise = derived(secrets[0]!, 'isochron list noise 1');
  }

  seal(place: ListPlace, holder: string): QualifiedKey {
    const text = Buffer.from(place.next);
    const padded = Buffer.alloc(Math.ceil((text.length + 1) / STEP) * STEP);
    padded.set(text);
    padded[text.length] = 1;
    const about = this.#about(place, holder);
    // The same place never has the same text again: equal texts would show that nothing lies between two starts. A
    // nonce serves one message alone, also of another node or after a restart, as the nonce is made from all of it.
    const nonce = this.#hash(`${this.#count++}\0${place.next}\0${about}`).subarray(0, NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#keys[0]!, nonce);
    cipher.setAAD(about);
    const sealed = [nonce, cipher.update(padded), cipher.final(), cipher.getAuthTag()];
    return `${headOf(place)}${Buffer.concat(sealed).toString('base64url')}`;
  }

  /** The place that a start is; undefined for a plain key. @throws IsochronError `CURSOR_INVALID` */
  open(start: QualifiedKey, holder: string): ListPlace | undefined {
    const [tail, pages, sealed] = SEALED.exec(start) ?? [];
    if (tail === undefined) return undefined;
    const place = { shown: start.slice(0, -tail.length), pages: Number.parseInt(pages!, 16) };
    const bytes = Buffer.from(sealed!, 'base64url');
    for (const key of this.#keys) {
      const next = opened(key, bytes, this.#about(place, holder));
      if (next !== undefined) return { ...place, next };
    }
    throw new IsochronError('CURSOR_INVALID', 'The place in the list is damaged. Start the listing again.');
  }

  /**
   * How many keys a page examines beside those that it shows. The number differs from start to start, so that where a
   * page ends shows no key: the sum of three numbers, of equal chances each.
   */
  work(start: QualifiedKey, holder: string): number {
    const [a = 0, b = 0, c = 0] = this.#hash(`${holder} ${start}`);
    return LEAST_WORK + (a % LEAST_WORK) + (b % LEAST_WORK) + (c % LEAST_WORK);
  }

  #hash(text: string): Buffer {
    return createHmac('sha256', this.#noise).update(text).digest();
  }

  #about(place: Pick<ListPlace, 'shown' | 'pages'>, holder: string): Buffer {
    return Buffer.from(`${this.identity}\0${holder}\0${headOf(place)}`);
  }
}

const headOf = ({ shown, pages }: Pick<ListPlace, 'shown' | 'pages'>): string =>
  `${shown}\0${pages.toString(16).padStart(8, '0')}`;

const derived = (secret: string, label: string): Buffer => createHmac('sha256', secret).update(label).digest();

function opened(key: Buffer, bytes: Buffer, about: Buffer): string | undefined {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES));
  decipher.setAAD(about);
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const padded = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    return padded.subarray(0, padded.lastIndexOf(1)).toString('utf8');
  } catch {
    return undefined;
  }
}
