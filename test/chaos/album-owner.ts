/** The owner of the albums: goes through the same steps over and over, each until it is acknowledged. */
import { setTimeout as delay } from 'node:timers/promises';
import { IsochronError, Random } from '@isochron/core';
import { connect, type IsochronClient, type WriteReceipt } from '@isochron/sdk';
import { ALBUMS, principalOf } from './access.js';
import { type Album, type AlbumSessionOptions, albumKey, photoKey } from './album-session.js';
import type { Photo } from './album-verdict.js';

/**
 * `show` adds a photo that the reader may see, `hide` one that it must not, once it is removed; `take` deletes all of
 * the latter before the reader is invited again.
 */
type Step = 'create' | 'show' | 'remove' | 'hide' | 'take' | 'invite';
type Writes = ReadonlyMap<string, object | null>;

/** A step, what it writes, and the step after it. */
interface Change {
  readonly writes: Writes;
  readonly next: Step;
}

const CONNECTION = { requestTimeoutMs: 5000, commitTimeoutMs: 8000, connectTimeoutMs: 3000 } as const;
const STABLE_LIMIT_MS = 5000;
/** Longest pause between two steps, ms: stable time advances within some of them, and not within others. */
const MAX_PAUSE_MS = 250;
const MOVE_CHANCE = 0.05;
/** Chance that two steps are one transaction: removal and first hidden photo, deletions and invitation. */
const TOGETHER = 0.3;
/** Chance that another photo is hidden before they are deleted. */
const ANOTHER = 0.4;
/** Chance that one write is no transaction, and that a transaction reads the album first. */
const SINGLE = 0.5;
const READS = 0.5;
/** Photos that the reader may see, after which a new album is made. */
const ALBUM_SIZE = 6;

const OWNER = principalOf('owner');
const INVITED = { owner: OWNER, readers: [OWNER, principalOf('reader')] };
const REMOVED = { owner: OWNER, readers: [OWNER] };

export class AlbumOwner {
  readonly #shared: AlbumSessionOptions;
  readonly #random: Random;
  readonly #regions: readonly string[];
  #region: string;
  #client: IsochronClient | undefined;
  /** The session to continue in another region. */
  #exported: string | undefined;
  #step: Step = 'create';
  #album: Album = { name: '', photos: [] };
  /** The new album, until every region has it. */
  #made: WriteReceipt | undefined;
  /** Hidden photos that are not deleted. */
  #hidden: string[] = [];
  #visible = 0;
  #names = 0;

  constructor(shared: AlbumSessionOptions) {
    this.#shared = shared;
    this.#random = new Random(shared.seed + 40_000);
    this.#regions = Object.keys(shared.endpoints);
    this.#region = this.#regions[0]!;
  }

  /** Runs until `signal` is aborted. Rejects only for errors that are not the product's. */
  async run(): Promise<void> {
    const { signal, gate } = this.#shared;
    while (!signal.aborted) {
      if (this.#made === undefined) await gate.pass(() => this.#act());
      else await this.#settle(this.#made);
      await delay(this.#random.below(MAX_PAUSE_MS + 1));
    }
    await this.#client?.close();
  }

  async #act(): Promise<void> {
    const client = this.#client;
    if (client === undefined) await this.#connect();
    else if (client.status.pendingCommits === 0 && this.#random.chance(MOVE_CHANCE)) await this.#move(client);
    else await this.#perform(client);
  }

  async #connect(): Promise<void> {
    const { connection, endpoints, tally } = this.#shared;
    try {
      this.#client = await connect({
        ...CONNECTION,
        ...connection,
        endpoints: endpoints[this.#region]!,
        keyspace: ALBUMS,
        random: () => this.#random.float(),
        ...(this.#exported === undefined ? {} : { session: this.#exported }),
      });
    } catch (error) {
      tally.failed('the owner', error);
      this.#region = this.#random.pick(this.#regions);
    }
  }

  /** Continues in another region: what it writes there is causally after what it has written here. */
  async #move(client: IsochronClient): Promise<void> {
    this.#exported = JSON.stringify(client.session.export());
    this.#region = this.#random.pick(this.#regions);
    this.#client = undefined;
    await client.close();
  }

  /** A snapshot without the album allows nothing. Own writes are in the snapshots of later requests (AR3). */
  async #settle(made: WriteReceipt): Promise<void> {
    try {
      await made.stable({ timeoutMs: STABLE_LIMIT_MS });
      this.#made = undefined;
    } catch (error) {
      // A fault may take longer. The step is repeated.
      if (!(error instanceof IsochronError)) throw error;
    }
  }

  async #perform(client: IsochronClient): Promise<void> {
    const { tally, verdict } = this.#shared;
    const { writes, next } = this.#change();
    try {
      const receipt = await this.#write(client, writes);
      tally.committed(receipt?.timestamp);
      this.#done(receipt);
      this.#step = next;
    } catch (error) {
      if (error instanceof IsochronError && error.code === 'PERMISSION_DENIED')
        verdict.failed(`${this.#step} ${this.#album.name} by the owner, in ${this.#region}: ${error.message}`);
      else if (tally.failed('the owner', error) === 'unknown') await this.#giveUp(client);
    }
  }

  /** After an unknown outcome nothing is certain about an album. A new session goes on with a new one. */
  async #giveUp(client: IsochronClient): Promise<void> {
    this.#client = undefined;
    this.#exported = undefined;
    this.#step = 'create';
    await client.close();
  }

  /** The present step. A photo that may have been added is among those to be deleted. */
  #change(): Change {
    const isTogether = this.#random.chance(TOGETHER);
    const album = albumKey(this.#album.name);
    const later: Step = this.#visible < ALBUM_SIZE ? 'show' : 'create';
    switch (this.#step) {
      case 'create':
        this.#album = { name: `a${this.#names++}`, photos: [] };
        return { writes: new Map([[albumKey(this.#album.name), INVITED]]), next: 'show' };
      case 'show':
        return { writes: this.#photo(false), next: 'remove' };
      case 'remove':
        if (isTogether) return { writes: new Map([[album, REMOVED], ...this.#photo(true)]), next: 'take' };
        return { writes: new Map([[album, REMOVED]]), next: 'hide' };
      case 'hide':
        return { writes: this.#photo(true), next: this.#random.chance(ANOTHER) ? 'hide' : 'take' };
      case 'take':
        if (isTogether) return { writes: new Map([...this.#deletions(), [album, INVITED]]), next: later };
        return { writes: this.#deletions(), next: 'invite' };
      case 'invite':
        return { writes: new Map([[album, INVITED]]), next: later };
    }
  }

  #photo(isHidden: boolean): Map<string, object> {
    const { name, photos } = this.#album;
    const photo: Photo = { id: `${isHidden ? 'hidden' : 'visible'}-${photos.length}`, isHidden };
    photos.push(photo.id);
    if (isHidden) this.#hidden.push(photo.id);
    return new Map([[photoKey(name, photo.id), photo]]);
  }

  #deletions(): Map<string, null> {
    return new Map(this.#hidden.map((id) => [photoKey(this.#album.name, id), null]));
  }

  async #write(client: IsochronClient, writes: Writes): Promise<WriteReceipt | undefined> {
    const [[key, document]] = [...writes] as [[string, object | null]];
    if (writes.size === 1 && this.#random.chance(SINGLE))
      return document === null ? client.delete(key) : client.set(key, document);
    // Judged in the transaction's snapshot if it is open, in a stable one if it is not (AR2).
    const opens = this.#step !== 'create' && this.#random.chance(READS);
    const { write } = await client.transaction(async (tx) => {
      if (opens) await tx.get(albumKey(this.#album.name));
      for (const [name, value] of writes) {
        if (value === null) tx.delete(name);
        else tx.set(name, value);
      }
    });
    return write;
  }

  #done(receipt: WriteReceipt | undefined): void {
    const { verdict, albums } = this.#shared;
    switch (this.#step) {
      case 'create':
        this.#made = receipt;
        this.#visible = 0;
        this.#hidden = [];
        albums.push(this.#album);
        break;
      case 'show':
        this.#visible++;
        break;
      case 'remove':
        verdict.removals++;
        break;
      case 'take':
        this.#hidden = [];
        verdict.deletions++;
    }
  }
}
