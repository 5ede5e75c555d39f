import type { Check, CheckContext } from '../check.js';
import type { Photo } from './photo.js';

/**
 * The album (AR1): no principal is shown a photo that was added after its removal, or taken out before its invitation,
 * in the causal order. Only owners add photos (AR2), and no owner that has made the album is refused, also while stable
 * time stands still (AR3). After the loss of a disk, a part of what was committed may be taken back.
 */
export class AlbumsArePrivate implements Check {
  readonly name = 'albums-are-private';
  /** Photos that were shown, and requests that were refused: whether a run has shown anything. */
  readonly counters = { shown: 0, refused: 0 };
  #lostData = false;
  /** Photos that each principal must not see because they were taken out before it was invited. */
  readonly #taken = new Map<string, Set<string>>();

  constructor(readonly context: CheckContext) {}

  /** The owner is about to invite a principal, after it has taken out these photos. */
  albumInvites(reader: string, taken: readonly string[]): void {
    const all = this.#taken.get(reader) ?? new Set();
    for (const id of taken) all.add(id);
    this.#taken.set(reader, all);
  }

  photoShown(session: string, principal: string, { id, by, album, hiddenFrom }: Photo, way: string): void {
    this.counters.shown++;
    if (this.#lostData) return;
    const shown = `${session} of ${principal} is shown the photo ${id} of ${album} by ${way}`;
    if (hiddenFrom.includes(principal)) this.#fail(`${shown}, which was added after its removal`, session, id);
    if (this.#taken.get(principal)?.has(id))
      this.#fail(`${shown}, which was taken out before its invitation`, session, id);
    if (by !== album && by !== principal) this.#fail(`${shown}, which ${by} has added without permission`, session, id);
  }

  /** A session's photo is committed. */
  photoAdded(session: string, { id, by, album }: Photo): void {
    if (by !== album && !this.#lostData) this.#fail(`${session} has added ${id} without permission`, session, id);
  }

  albumRefused(session: string, isOwnPhoto: boolean): void {
    this.counters.refused++;
    if (isOwnPhoto && !this.#lostData)
      this.#fail(`${session} has made the album, and may not add a photo to it`, session);
  }

  onDataLoss(): void {
    this.#lostData = true;
  }

  #fail(message: string, ...about: string[]): void {
    this.context.fail(this.name, message, about);
  }
}
