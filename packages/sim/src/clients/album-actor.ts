/** A session with albums under access rules: carries out its plan, and reports every photo that it is shown. */

import type { MergedPage } from '@isochron/client';
import { readChanges } from '@isochron/client/live/changes';
import type { ChangesPage } from '@isochron/client/live/frames';
import type { LiveObserver } from '@isochron/client/live/observer';
import { mergedPage } from '@isochron/client/session/listing';
import type { AnyMessage, QualifiedKey } from '@isochron/core';
import type { Photo } from '../checks/access/photo.js';
import type { AlbumObservations } from '../checks/evidence/observations.js';
import { type Co, run } from '../engine/coroutine.js';
import type { AlbumSessionPlan, AlbumStepPlan } from '../plan/plan.js';
import type { Client, MachineSession } from './client.js';
import { RuledSession } from './ruled-session.js';
import { RequestFailed } from './session.js';

/** The document of an album. A principal that was removed is not invited again. */
interface Album {
  readonly owner: string;
  readonly readers: readonly string[];
  readonly removed: readonly string[];
}

/** The shared state of all sessions with albums. */
export interface AlbumWorld {
  readonly keyspace: string;
  readonly observer: AlbumObservations;
  /** Names of photos of each album, in the order in which they were added. */
  readonly photos: Map<string, string[]>;
  note(session: string, what: () => string): void;
}

/** How long a request of a follower waits, and the size of its pages in bytes. */
const FOLLOW = { waitMs: 300, limitBytes: 2_000 };
const PAGE = 100;

export class AlbumActor<M extends AnyMessage> {
  doing = 'connecting';
  #finished = false;
  #stopped = false;
  #photos = 0;
  /** Photos of this session, the oldest first, and those that it has taken out. */
  readonly #own: Photo[] = [];
  readonly #taken: string[] = [];
  /** Whether the outcome of a change of the album is open: it is not changed again. */
  #isUncertain = false;
  #hasMade = false;
  readonly #ruled: RuledSession<M>;

  constructor(
    readonly plan: AlbumSessionPlan,
    readonly client: Client<M>,
    readonly world: AlbumWorld,
    readonly session: MachineSession<M>,
  ) {
    this.#ruled = new RuledSession(session, (what) => this.#note(what));
  }

  get name(): string {
    return this.plan.name;
  }

  get finished(): boolean {
    return this.#finished && !this.client.settling;
  }

  get awaitsOutcome(): boolean {
    return this.client.settling && (this.#finished || this.#ruled.isCommitting);
  }

  start(): void {
    const always = () => true;
    run(this.#work(), always, () => {
      this.#finished = true;
      this.doing = 'finished';
    });
  }

  /** Begins no new step. */
  stop(): void {
    this.#stopped = true;
  }

  *#work(): Co<void> {
    yield* this.client.connection();
    for (const step of this.plan.steps) {
      this.doing = 'thinking';
      yield* this.client.pause(step.thinkMs);
      if (this.#stopped) return;
      this.doing = step.f;
      try {
        yield* this.#step(step);
      } catch (error) {
        if (!(error instanceof RequestFailed)) throw error;
        this.#note(() => `${step.f} fails: ${error.code}`);
        if (error.code === 'PERMISSION_DENIED') this.world.observer.albumRefused(this.name, this.#isOwnPhoto(step));
      }
    }
  }

  #step(step: AlbumStepPlan): Co<void> {
    switch (step.f) {
      case 'create':
        return this.#create();
      case 'invite':
        return this.#invite(step.reader, step.takes);
      case 'remove':
        return this.#change((album) => removed(album, step.reader));
      case 'add':
        return this.#add(step.album);
      case 'take':
        return this.#take(this.#own[0]);
      case 'get':
        return this.#get(step.album, step.back);
      case 'list':
        return this.#list(step.album, step.ageMs);
      case 'live':
        return this.#live(step.album, step.forMs);
      case 'follow':
        return this.#follow(step);
      case 'move':
        return this.#move(step.region);
    }
  }

  *#move(region: string): Co<void> {
    this.client.moveTo(region);
    yield* this.client.pause(0);
  }

  // The owner.

  *#create(): Co<void> {
    const { principal: owner } = this.plan;
    const album: Album = { owner, readers: [], removed: [] };
    this.#hasMade = (yield* this.#ruled.write({ [this.#albumKey(owner)]: album })) === 'committed';
  }

  /** Changes the album, in a transaction that reads it: its owner has one session that does. */
  *#change(change: (album: Album) => Album | undefined, invites?: string): Co<void> {
    if (this.#isUncertain) return;
    const key = this.#albumKey(this.plan.principal);
    const tx = this.#ruled.begin({ mode: 'transaction' });
    const album = yield* this.#ruled.read<Album>(tx, key);
    const next = album && change(album);
    if (next === undefined) return tx.end();
    if (invites !== undefined) this.world.observer.albumInvites(invites, this.#taken);
    tx.write(key, JSON.stringify(next));
    const done = yield* this.#ruled.commit(tx);
    this.#isUncertain ||= done === 'unknown';
  }

  /** Adds a photo, in a transaction that reads the album where its session may. */
  *#add(name: string): Co<void> {
    const { principal: by } = this.plan;
    const tx = this.#ruled.begin({ mode: 'transaction' });
    const album = by === name ? yield* this.#ruled.read<Album>(tx, this.#albumKey(name)) : undefined;
    const photo: Photo = {
      id: `${this.name}-${this.#photos++}`,
      by,
      album: name,
      hiddenFrom: album?.removed ?? [],
    };
    tx.write(this.#photoKey(name, photo.id), JSON.stringify(photo));
    const known = this.world.photos.get(name) ?? [];
    this.world.photos.set(name, [...known, photo.id]);
    if ((yield* this.#ruled.commit(tx)) !== 'committed') return;
    this.#own.push(photo);
    this.world.observer.photoAdded(this.name, photo);
  }

  *#invite(reader: string, takes: 'none' | 'oldest' | 'new'): Co<void> {
    if (takes === 'new') yield* this.#add(this.plan.principal);
    if (takes !== 'none') yield* this.#take(takes === 'new' ? this.#own.at(-1) : this.#own[0]);
    yield* this.#change((album) => invited(album, reader), reader);
  }

  *#take(photo: Photo | undefined): Co<void> {
    if (photo === undefined) return;
    this.#own.splice(this.#own.indexOf(photo), 1);
    if ((yield* this.#ruled.write({ [this.#photoKey(photo.album, photo.id)]: null })) === 'committed')
      this.#taken.push(photo.id);
  }

  // Those who look on.

  *#get(album: string, back: number): Co<void> {
    const photo = this.world.photos.get(album)?.at(-1 - back);
    if (photo === undefined) return;
    const tx = this.#ruled.begin({ mode: 'one-shot' });
    const [seen] = yield* tx.read([this.#photoKey(album, photo)]);
    this.#shown(seen!.value, 'a read');
  }

  *#list(album: string, ageMs: number): Co<void> {
    const tx = this.#ruled.begin({ mode: ageMs === 0 ? 'one-shot' : 'transaction' });
    try {
      if (ageMs > 0) yield* this.session.call({ f: 'open', handle: tx.handle });
      yield* this.client.pause(ageMs);
      const request = { keyspace: this.world.keyspace, prefix: `photos/${album}/`, start: '', limit: PAGE };
      const call = { f: 'list', merge: mergedPage, handle: tx.handle, request } as const;
      const { entries } = (yield* this.session.call(call)) as MergedPage;
      for (const [, value] of entries) this.#shown(value, 'a list');
    } finally {
      tx.end();
    }
  }

  *#live(album: string, forMs: number): Co<void> {
    const observer: LiveObserver = {
      next: (_snapshot, views) => {
        for (const { documents } of views)
          for (const { value } of documents.values()) this.#shown(value, 'a live query');
      },
      failed: ({ code }) => {
        this.#note(() => `the live query ends with ${code}`);
        if (code === 'PERMISSION_DENIED') this.world.observer.albumRefused(this.name, false);
      },
    };
    const start = this.#photoKey(album, '');
    this.session.watchLive(observer, [{ start, end: `${start.slice(0, -1)}0` }]);
    yield* this.client.pause(forMs);
    this.session.unwatchLive(observer);
  }

  /** Pages of the feed, from what the session has seen on: also while it is refused, and then across its invitation. */
  *#follow({ album, pages, pauseMs }: Extract<AlbumStepPlan, { readonly f: 'follow' }>): Co<void> {
    const call = { f: 'changes', read: readChanges, scope: this.#photoKey(album, ''), ...FOLLOW } as const;
    let after = this.session.ust;
    for (let page = 0; page < pages && !this.#stopped; page++) {
      try {
        const { to, transactions } = (yield* this.session.call({ ...call, after })) as ChangesPage;
        after = to;
        for (const { writes } of transactions) for (const { value } of writes) this.#shown(value, 'the change feed');
      } catch (error) {
        if (!(error instanceof RequestFailed) || error.code !== 'PERMISSION_DENIED') throw error;
        this.world.observer.albumRefused(this.name, false);
      }
      yield* this.client.pause(pauseMs);
    }
  }

  #shown(value: unknown, way: string): void {
    if (typeof value !== 'string') return;
    this.#note(() => `is shown ${value} by ${way}`);
    this.world.observer.photoShown(this.name, this.plan.principal, JSON.parse(value) as Photo, way);
  }

  #isOwnPhoto(step: AlbumStepPlan): boolean {
    return this.#hasMade && step.f === 'add' && step.album === this.plan.principal;
  }

  #albumKey(owner: string): QualifiedKey {
    return `${this.world.keyspace}/albums/${owner}`;
  }

  #photoKey(album: string, photo: string): QualifiedKey {
    return `${this.world.keyspace}/photos/${album}/${photo}`;
  }

  #note(what: () => string): void {
    this.world.note(this.name, what);
  }
}

function invited(album: Album, reader: string): Album | undefined {
  if (album.readers.includes(reader) || album.removed.includes(reader)) return undefined;
  return { ...album, readers: [...album.readers, reader] };
}

function removed(album: Album, reader: string): Album | undefined {
  if (!album.readers.includes(reader)) return undefined;
  return { ...album, readers: album.readers.filter((one) => one !== reader), removed: [...album.removed, reader] };
}
