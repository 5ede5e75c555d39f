/** A session of the reader: reads, lists, watches and follows the albums, in one region after the other. */
import { setTimeout as delay } from 'node:timers/promises';
import { IsochronError, Random } from '@isochron/core';
import { connect, type IsochronClient } from '@isochron/sdk';
import { ALBUMS } from './access.js';
import { type Album, type AlbumSessionOptions, photoKey } from './album-session.js';
import type { Photo, Way } from './album-verdict.js';

const CONNECTION = { requestTimeoutMs: 5000, connectTimeoutMs: 3000 } as const;
/** How long a session stays in a region, ms: at least, and at most. */
const STAY_MS = [2_000, 10_000] as const;
const RETRY_MS = 200;
/** Longest pause between two reads, and longest time from the beginning of a snapshot to its read, ms. */
const MAX_PAUSE_MS = 100;
const MAX_AGE_MS = 400;
/** How long one live query or feed goes on at most, ms. */
const MAX_WATCH_MS = 3_000;
/** Photos in one read: the latest. */
const LATEST = 8;
/** Chance that it looks at a former album. */
const FORMER = 0.1;

export class AlbumReader {
  readonly #shared: AlbumSessionOptions;
  readonly #name: string;
  readonly #random: Random;
  readonly #regions: readonly string[];
  #region: string;
  /** The session to continue in another region. */
  #exported: string | undefined;

  constructor(shared: AlbumSessionOptions, number: number) {
    this.#shared = shared;
    this.#name = `reader/${number}`;
    this.#random = new Random(shared.seed + 50_000 + number);
    this.#regions = Object.keys(shared.endpoints);
    this.#region = this.#regions[number % this.#regions.length]!;
  }

  /** Runs until `signal` is aborted. Rejects only for errors that are not the product's. */
  async run(): Promise<void> {
    while (!this.#shared.signal.aborted) {
      const client = await this.#connect();
      if (client === undefined) continue;
      const [least, most] = STAY_MS;
      const over = AbortSignal.timeout(least + this.#random.below(most - least));
      const signal = AbortSignal.any([over, this.#shared.signal]);
      const ways: [Way, (album: Album) => Promise<void>][] = [
        ['reads', (album) => this.#read(client, album)],
        ['lists', (album) => this.#list(client, album)],
        ['live queries', (album) => this.#watch(client, album, signal)],
        ['the change feed', (album) => this.#follow(client, album, signal)],
      ];
      await Promise.all(ways.map(([way, look]) => this.#repeat(way, look, signal)));
      this.#exported = JSON.stringify(client.session.export());
      this.#region = this.#random.pick(this.#regions);
      await client.close();
    }
  }

  async #connect(): Promise<IsochronClient | undefined> {
    const { connection, endpoints, tally } = this.#shared;
    try {
      return await connect({
        ...CONNECTION,
        ...connection,
        endpoints: endpoints[this.#region]!,
        keyspace: ALBUMS,
        random: () => this.#random.float(),
        ...(this.#exported === undefined ? {} : { session: this.#exported }),
      });
    } catch (error) {
      tally.failed(this.#name, error);
      this.#region = this.#random.pick(this.#regions);
      await delay(RETRY_MS);
      return undefined;
    }
  }

  /** Looks at albums in one way until the signal. */
  async #repeat(way: Way, look: (album: Album) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { tally, verdict } = this.#shared;
    while (!signal.aborted) {
      try {
        const album = this.#anyAlbum();
        if (album !== undefined) await look(album);
      } catch (error) {
        if (error instanceof IsochronError && error.code === 'PERMISSION_DENIED') verdict.refused(way);
        else if (!signal.aborted) tally.failed(`${this.#name} (${way})`, error);
      }
      await delay(this.#random.below(MAX_PAUSE_MS + 1));
    }
  }

  #anyAlbum(): Album | undefined {
    const { inUse, former } = this.#shared;
    const albums = this.#random.chance(FORMER) ? former : [...inUse.values()];
    return albums.length === 0 ? undefined : this.#random.pick(albums);
  }

  /** Photos by their ids, the deleted ones too: on their own, or in a snapshot that may be older than some of them. */
  async #read(client: IsochronClient, { name, photos }: Album): Promise<void> {
    const snapshot = this.#random.chance(0.5) ? await client.snapshot() : undefined;
    try {
      if (snapshot !== undefined) await delay(this.#random.below(MAX_AGE_MS + 1));
      const keys = photos.slice(-LATEST).map((id) => photoKey(name, id));
      for (const photo of await (snapshot ?? client).getMany<Photo>(keys))
        if (photo !== undefined) this.#shown('reads', name, photo);
    } finally {
      await snapshot?.close();
    }
  }

  async #list(client: IsochronClient, { name }: Album): Promise<void> {
    for await (const { value } of client.list({ prefix: photoKey(name, '') }))
      this.#shown('lists', name, value as Photo);
  }

  /** Rejects when the query ends. */
  #watch(client: IsochronClient, { name }: Album, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const photos = client.watch({ prefix: photoKey(name, '') });
      const refused = new AbortController();
      const end = client.live(
        { photos },
        (result) => {
          for (const { value } of result.photos.documents) this.#shown('live queries', name, value as Photo);
        },
        (error) => {
          // Only its permission ends a live query.
          if (error.code !== 'PERMISSION_DENIED')
            this.#shared.verdict.failed(`a live query of ${this.#name} in ${this.#region}: ${error.message}`);
          reject(error);
          refused.abort();
        },
      );
      void this.#while(AbortSignal.any([signal, refused.signal])).then(() => {
        end();
        resolve();
      });
    });
  }

  async #follow(client: IsochronClient, { name }: Album, signal: AbortSignal): Promise<void> {
    const over = AbortSignal.any([signal, AbortSignal.timeout(MAX_WATCH_MS)]);
    try {
      const feed = client.changes({ keyspace: ALBUMS, prefix: photoKey(name, ''), signal: over });
      for await (const { transactions } of feed)
        for (const { writes } of transactions)
          for (const { value } of writes) if (value !== undefined) this.#shown('the change feed', name, value as Photo);
    } catch (error) {
      if (!over.aborted) throw error;
    }
  }

  /** The longest time of a live query. */
  #while(signal: AbortSignal): Promise<unknown> {
    return delay(MAX_WATCH_MS, undefined, { signal }).catch(() => undefined);
  }

  #shown(way: Way, album: string, photo: Photo): void {
    this.#shared.verdict.photoShown(`${this.#name}, in ${this.#region}, album ${album},`, way, photo);
  }
}
