/** What the sessions of owner and reader have in common. */
import type { Connection } from './access.js';
import type { AlbumVerdict } from './album-verdict.js';
import type { Gate } from './gate.js';
import type { Tally } from './tally.js';

/** An album that was made. */
export interface Album {
  readonly name: string;
  /** Ids of the photos that were added, or may have been, in their order. */
  readonly photos: string[];
}

/** Shared by the sessions of a principal. */
export interface AlbumSessionOptions {
  readonly tally: Tally;
  readonly gate: Gate;
  readonly seed: number;
  /** Regions with the URLs of their nodes. */
  readonly endpoints: Readonly<Record<string, readonly string[]>>;
  readonly connection: Connection;
  readonly verdict: AlbumVerdict;
  /** The albums so far. The last one is in use. */
  readonly albums: Album[];
  /** No step begins once this is aborted. */
  readonly signal: AbortSignal;
}

export const albumKey = (album: string): string => `albums/${album}`;
export const photoKey = (album: string, photo: string): string => `photos/${album}/${photo}`;
