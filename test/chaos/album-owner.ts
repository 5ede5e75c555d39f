/** A session of the owner. Makes albums, then repeats the same steps, each until it is acknowledged. */
import { setTimeout as delay } from 'node:timers/promises';
import { IsochronError, Random } from '@isochron/core';
import { connect, type IsochronClient, type WriteReceipt } from '@isochron/sdk';
import { ALBUMS, principalOf } from './access.js';
import { type Album, type AlbumSessionOptions, albumKey, photoKey } from './album-session.js';
import type { Photo } from './album-verdict.js';
import { isDeferred } from './session.js';

/**
 * `show` adds a photo that the reader may see, `hide` one that it must not, once it is removed; `take` deletes all of
 * the latter before the reader is invited again.
 */
type Step = 'show' | 'remove' | 'hide' | 'take' | 'invite';
type Writes = ReadonlyMap<string, object | null>;

/** What a step writes, and the step after it. */
interface Change {
  readonly writes: Writes;
  readonly next: Step;
}

const CONNECTION = { requestTimeoutMs: 5000, commitTimeoutMs: 8000, connectTimeoutMs: 3000 } as const;
/** How long the owner waits until every region has new albums, before it makes others instead, ms. */
const STABLE_LIMIT_MS = 60_000;
const RETRY_MS = 200;
/** Longest pause between two steps, ms: stable time advances within some of them, and not within others. */
const MAX_PAUSE_MS = 250;
const MOVE_CHANCE = 0.05;
/** Chance that two steps are one transaction: removal and first hidden photo, deletions and invitation. */
const TOGETHER = 0.3;
/** Chance that another photo is added before the next step. */
const ANOTHER = 0.4;
/** Chance that one write is no transaction, and that a transaction reads the album first. */
const SINGLE = 0.5;
const READS = 0.5;
/** Albums that are made together. */
const STOCK = 16;
/** Invitations of an album, after which the next one is in use. */
const INVITATIONS = 8;

const OWNER = principalOf('owner');
const INVITED = { owner: OWNER, readers: [OWNER, principalOf('reader')] };
const REMOVED = { owner: OWNER, readers: [OWNER] };

export class AlbumOwner {
  readonly #shared: AlbumSessionOptions;
  readonly #number: number;
  readonly #random: Random;
  readonly #regions: readonly string[];
  #region: string;
  #client: IsochronClient | undefined;
  /** The session to continue in another region. */
  #exported: string | undefined;
  #step: Step = 'show';
  /** New albums; the last one is the next in use. */
  #stock: string[] = [];
  /** Hidden photos that are not deleted. */
  #hidden: string[] = [];
  #invitations = 0;
  #made = 0;

  constructor(shared: AlbumSessionOptions, number: number) {
    this.#shared = shared;
    this.#number = number;
    this.#random = new Random(shared.seed + 40_000 + number);
    this.#regions = Object.keys(shared.endpoints);
    this.#region = this.#regions[number % this.#regions.length]!;
  }

  /** Makes albums, and resolves when every region has them: a snapshot without an album allows nothing in it. */
  async make(): Promise<void> {
    const { signal, tally } = this.#shared;
    while (!signal.aborted && this.#stock.length === 0) {
      try {
        const client = await this.#open();
        await this.#make(client).finally(() => client.close());
      } catch (error) {
        // STABLE_TIMEOUT: a fault takes long.
        if (!(error instanceof IsochronError && error.code === 'STABLE_TIMEOUT')) tally.failed(this.#name, error);
        this.#region = this.#random.pick(this.#regions);
        await delay(RETRY_MS);
      }
    }
    this.#useNext();
  }

  /** Runs until `signal` is aborted. Rejects only for errors that are not the product's. */
  async run(): Promise<void> {
    const { signal, gate } = this.#shared;
    while (!signal.aborted) {
      if (this.#album === undefined) await this.make();
      else await gate.pass(() => this.#act());
      await delay(this.#random.below(MAX_PAUSE_MS + 1));
    }
    await this.#client?.close();
  }

  get #name(): string {
    return `owner/${this.#number}`;
  }

  get #album(): Album | undefined {
    return this.#shared.inUse.get(this.#number);
  }

  /** An attempt of unknown outcome may take effect later: every attempt has names of its own. */
  async #make(client: IsochronClient): Promise<void> {
    const { gate, tally, signal } = this.#shared;
    const names = Array.from({ length: STOCK }, () => `a${this.#number}-${this.#made++}`);
    const { write } = await gate.pass(() =>
      client.transaction((tx) => {
        for (const name of names) tx.set(albumKey(name), INVITED);
      }),
    );
    tally.committed(write?.timestamp);
    await write?.stable({ timeoutMs: STABLE_LIMIT_MS, signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    this.#stock = names;
  }

  #useNext(): void {
    const { inUse, former } = this.#shared;
    if (this.#album !== undefined) former.push(this.#album);
    inUse.delete(this.#number);
    const name = this.#stock.pop();
    if (name !== undefined) inUse.set(this.#number, { name, photos: [] });
    this.#step = 'show';
    this.#hidden = [];
    this.#invitations = 0;
  }

  async #act(): Promise<void> {
    const client = this.#client;
    if (client === undefined) await this.#connect();
    else if (client.status.pendingCommits === 0 && this.#random.chance(MOVE_CHANCE)) await this.#move(client);
    else await this.#perform(client, this.#album!);
  }

  async #connect(): Promise<void> {
    try {
      this.#client = await this.#open(this.#exported);
    } catch (error) {
      this.#shared.tally.failed(this.#name, error);
      this.#region = this.#random.pick(this.#regions);
      if (isDeferred(error)) await this.#giveUp();
    }
  }

  #open(session?: string): Promise<IsochronClient> {
    const { connection, endpoints } = this.#shared;
    return connect({
      ...CONNECTION,
      ...connection,
      endpoints: endpoints[this.#region]!,
      keyspace: ALBUMS,
      random: () => this.#random.float(),
      ...(session === undefined ? {} : { session }),
    });
  }

  /** Continues in another region: what it writes there is causally after what it has written here. */
  async #move(client: IsochronClient): Promise<void> {
    this.#exported = JSON.stringify(client.session.export());
    this.#region = this.#random.pick(this.#regions);
    this.#client = undefined;
    await client.close();
  }

  async #perform(client: IsochronClient, album: Album): Promise<void> {
    const { tally, verdict } = this.#shared;
    const { writes, next } = this.#change(album);
    try {
      const receipt = await this.#write(client, album, writes);
      tally.committed(receipt?.timestamp);
      this.#done();
      this.#step = next;
      if (this.#invitations > INVITATIONS) this.#useNext();
    } catch (error) {
      if (error instanceof IsochronError && error.code === 'PERMISSION_DENIED')
        verdict.failed(`${this.#name} could not ${this.#step} in ${album.name}, in ${this.#region}: ${error.message}`);
      else if (tally.failed(this.#name, error) === 'unknown' || isDeferred(error)) await this.#giveUp();
    }
  }

  /**
   * After an unknown outcome, and without a session's deferred writes, nothing is certain about an album. A new session
   * goes on with another one.
   */
  async #giveUp(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    this.#exported = undefined;
    this.#useNext();
    await client?.close();
  }

  /** The present step. */
  #change(album: Album): Change {
    const key = albumKey(album.name);
    const isTogether = this.#random.chance(TOGETHER);
    switch (this.#step) {
      case 'show':
        return { writes: this.#photo(album, false), next: this.#random.chance(ANOTHER) ? 'show' : 'remove' };
      case 'remove':
        if (isTogether) return { writes: new Map([[key, REMOVED], ...this.#photo(album, true)]), next: 'take' };
        return { writes: new Map([[key, REMOVED]]), next: 'hide' };
      case 'hide':
        return { writes: this.#photo(album, true), next: this.#random.chance(ANOTHER) ? 'hide' : 'take' };
      case 'take':
        if (isTogether) return { writes: new Map([...this.#deletions(album), [key, INVITED]]), next: 'show' };
        return { writes: this.#deletions(album), next: 'invite' };
      case 'invite':
        return { writes: new Map([[key, INVITED]]), next: 'show' };
    }
  }

  /** A new photo. Even if it is not added in the end, it is deleted and looked for. */
  #photo({ name, photos }: Album, isHidden: boolean): Map<string, object> {
    const photo: Photo = { id: `${isHidden ? 'hidden' : 'visible'}-${photos.length}`, isHidden };
    photos.push(photo.id);
    if (isHidden) this.#hidden.push(photo.id);
    return new Map([[photoKey(name, photo.id), photo]]);
  }

  #deletions({ name }: Album): Map<string, null> {
    return new Map(this.#hidden.map((id) => [photoKey(name, id), null]));
  }

  async #write(client: IsochronClient, album: Album, writes: Writes): Promise<WriteReceipt | undefined> {
    const [[key, document]] = [...writes] as [[string, object | null]];
    if (writes.size === 1 && this.#random.chance(SINGLE))
      return document === null ? client.delete(key) : client.set(key, document);
    // Judged in the transaction's snapshot if it is open, in a stable one if it is not (AR2).
    const opens = this.#random.chance(READS);
    const { write } = await client.transaction(async (tx) => {
      if (opens) await tx.get(albumKey(album.name));
      for (const [name, value] of writes) {
        if (value === null) tx.delete(name);
        else tx.set(name, value);
      }
    });
    return write;
  }

  #done(): void {
    const { verdict } = this.#shared;
    if (this.#step === 'remove') verdict.removals++;
    if (this.#step !== 'take') return;
    verdict.deletions++;
    this.#hidden = [];
    this.#invitations++;
  }
}
