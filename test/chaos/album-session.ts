/** What the sessions of owner and reader have in common. */
import type { Connection } from './access.js';
import type { AlbumVerdict } from './album-verdict.js';
import type { Gate } from './gate.js';
import type { Tally } from './tally.js';

/** An album that every region has. */
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
  /** The albums whose owners change them, by the numbers of these; and those that are not changed any more. */
  readonly inUse: Map<number, Album>;
  readonly former: Album[];
  /** No step begins once this is aborted. */
  readonly signal: AbortSignal;
}

export const albumKey = (album: string): string => `albums/${album}`;
export const photoKey = (album: string, photo: string): string => `photos/${album}/${photo}`;
