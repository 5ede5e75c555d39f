import type { LiveDocument, ScopeView } from '@isochron/client/live/observer';
import type { QualifiedKey, Timestamp } from '@isochron/core';
import type { Check, CheckContext } from '../check.js';
import type { LiveWatch } from '../evidence/observations.js';

type ObservedDocuments = ReadonlyMap<QualifiedKey, LiveDocument>;

/**
 * An observer gets exactly what has changed, over reconnects and gaps of the log too (LQ3): each call names the keys
 * whose documents differ from the call before, a document that does not change stays the same object, and there is no
 * call without a change. Snapshots of a session never go back.
 */
export class LiveChangesAreExact implements Check {
  readonly name = 'live-changes-are-exact';
  readonly #before = new Map<LiveWatch, readonly ObservedDocuments[]>();
  readonly #snapshots = new Map<string, Timestamp>();

  /** @param refusals codes with which a node may refuse a session for its clock */
  constructor(
    readonly context: CheckContext,
    readonly refusals: ReadonlySet<string>,
  ) {}

  liveShown(watch: LiveWatch, snapshot: Timestamp, views: readonly ScopeView[]): void {
    this.#forward(watch, snapshot);
    if (views.length !== watch.scopes.length)
      this.#fail(watch, `is called with ${views.length} scopes, of ${watch.scopes.length}`);
    const before = this.#before.get(watch);
    for (const [i, view] of views.entries()) this.#exact(watch, view, before?.[i]);
    if (before !== undefined && views.every(({ changed }) => changed.size === 0))
      this.#fail(watch, `is called at ${snapshot} although nothing has changed`);
    this.#before.set(
      watch,
      views.map(({ documents }) => new Map(documents)),
    );
  }

  liveAnew(watch: LiveWatch): void {
    this.#before.delete(watch);
  }

  liveEnded(watch: LiveWatch, code?: string): void {
    this.#before.delete(watch);
    if (code !== undefined && !this.refusals.has(code)) this.#fail(watch, `ends with ${code}`);
  }

  /** All observers of a session have one position. */
  #forward(watch: LiveWatch, snapshot: Timestamp): void {
    const last = this.#snapshots.get(watch.session) ?? 0;
    if (snapshot < last) this.#fail(watch, `goes back from ${last} to ${snapshot}`);
    this.#snapshots.set(watch.session, snapshot);
  }

  #exact(watch: LiveWatch, { documents, changed }: ScopeView, before: ObservedDocuments = new Map()): void {
    for (const key of new Set([...before.keys(), ...documents.keys(), ...changed])) {
      const [old, now] = [before.get(key), documents.get(key)];
      if (changed.has(key) !== (old !== now))
        this.#fail(
          watch,
          `is called ${changed.has(key) ? 'with' : 'without'} ${key}, whose document is ${textOf(old, now)}`,
        );
      else if (old !== now && old?.value === now?.value && old?.pending === now?.pending)
        this.#fail(watch, `gets another object for ${key}, which has not changed`);
    }
  }

  #fail({ session, name }: LiveWatch, message: string): void {
    this.context.fail(this.name, `${name} of ${session} ${message}`, [session]);
  }
}

const textOf = (old: LiveDocument | undefined, now: LiveDocument | undefined): string =>
  old === now ? 'the same as before' : `${now?.value ?? 'none'} after ${old?.value ?? 'none'}`;
