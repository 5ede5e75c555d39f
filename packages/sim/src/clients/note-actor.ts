/** A session with notes under a rule that filters them by what is in them: carries out its plan. */
import type { MergedPage } from '@isochron/client';
import { readChanges } from '@isochron/client/live/changes';
import type { LiveObserver } from '@isochron/client/live/observer';
import { mergedPage } from '@isochron/client/session/listing';
import type { AnyMessage, QualifiedKey } from '@isochron/core';
import type { Note } from '../checks/access/hidden-keys.js';
import { type Co, run } from '../engine/coroutine.js';
import type { NoteSessionPlan, NoteStepPlan } from '../plan/plan.js';
import type { Client, MachineSession } from './client.js';
import { RuledSession } from './ruled-session.js';
import { RequestFailed } from './session.js';

/** The shared state of all sessions with notes. */
export interface NoteWorld {
  readonly keyspace: string;
  note(session: string, what: () => string): void;
}

/** Pages of a list that are read at most, and how long and large a page of the feed is. */
const MOST_PAGES = 40;
const FOLLOW = { waitMs: 300, limitBytes: 2_000 };

export class NoteActor<M extends AnyMessage> {
  doing = 'connecting';
  #finished = false;
  #stopped = false;
  #written = 0;
  /** Names of notes that may be those of the principal, the newest last. */
  #own: string[] = [];
  readonly #ruled: RuledSession<M>;

  constructor(
    readonly plan: NoteSessionPlan,
    readonly client: Client<M>,
    readonly world: NoteWorld,
    readonly session: MachineSession<M>,
  ) {
    this.#ruled = new RuledSession(session, (what) => world.note(plan.name, what));
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
        this.world.note(this.name, () => `${step.f} fails: ${error.code}`);
      }
    }
  }

  *#step(step: NoteStepPlan): Co<void> {
    switch (step.f) {
      case 'write':
        return yield* this.#write(step.count);
      case 'rewrite':
        return yield* this.#change(step.back, this.#new());
      case 'hand':
        return yield* this.#change(step.back, { ...this.#new(), by: step.to });
      case 'delete':
        return yield* this.#change(step.back, null);
      case 'list':
        return yield* this.#list(step.limit);
      case 'live':
        return yield* this.#live(step);
      case 'follow':
        return yield* this.#follow();
      case 'move':
        this.client.moveTo(step.region);
        yield* this.client.pause(0);
    }
  }

  *#write(count: number): Co<void> {
    const names = Array.from({ length: count }, () => `${this.name}-${this.#written++}`);
    yield* this.#ruled.write(Object.fromEntries(names.map((name) => [this.#key(name), this.#new()])));
    this.#own.push(...names);
  }

  /** Writes, hands over or deletes a note: without permission where it is no longer its own. */
  *#change(back: number, note: Note | null): Co<void> {
    const name = this.#own.at(-1 - back);
    if (name === undefined) return;
    if (note?.by !== this.plan.principal) this.#own.splice(this.#own.indexOf(name), 1);
    yield* this.#ruled.write({ [this.#key(name)]: note });
  }

  /** Page after page, each in the newest snapshot. The notes of the last ones are its own. */
  *#list(limit: number): Co<void> {
    const { keyspace } = this.world;
    const found: string[] = [];
    for (let start: string | null = '', pages = 0; start !== null && pages < MOST_PAGES && !this.#stopped; pages++) {
      const tx = this.#ruled.begin({ mode: 'one-shot' });
      try {
        const request = { keyspace, prefix: 'notes/', start, limit };
        const call = { f: 'list', merge: mergedPage, handle: tx.handle, request } as const;
        const page = (yield* this.session.call(call)) as MergedPage;
        found.push(...page.entries.map(([key]) => key.slice('notes/'.length)));
        start = page.next;
      } finally {
        tx.end();
      }
    }
    this.#own = [...new Set([...this.#own, ...found])];
  }

  *#live({ of, forMs, stays }: Extract<NoteStepPlan, { readonly f: 'live' }>): Co<void> {
    const observer: LiveObserver = {
      next: (snapshot, views) =>
        this.world.note(this.name, () => `${of} at ${snapshot}: ${views.map(({ changed }) => [...changed]).join(' ')}`),
      failed: ({ code }) => this.world.note(this.name, () => `the live query of ${of} ends with ${code}`),
    };
    const start = `${this.world.keyspace}/${of}/`;
    this.session.watchLive(observer, [{ start, end: `${start.slice(0, -1)}0` }]);
    if (stays) this.client.time.after(forMs, () => this.session.unwatchLive(observer));
    else {
      yield* this.client.pause(forMs);
      this.session.unwatchLive(observer);
    }
  }

  *#follow(): Co<void> {
    const call = { f: 'changes', read: readChanges, scope: this.#key(''), after: this.session.ust, ...FOLLOW } as const;
    yield* this.session.call(call);
  }

  #new(): Note {
    return { by: this.plan.principal };
  }

  #key(name: string): QualifiedKey {
    return `${this.world.keyspace}/notes/${name}`;
  }
}
