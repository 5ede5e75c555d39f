import type { LiveDocument, ScopeView } from '@isochron/client/live/observer';
import type { QualifiedKey, StoredVersion, Timestamp, TxId, Value } from '@isochron/core';
import { isInScope } from '../../plan/draw-live.js';
import type { Check, CheckContext } from '../check.js';
import { textOf } from '../evidence/documents.js';
import type { Ledger } from '../evidence/ledger.js';
import type { LiveOwn, LiveWatch } from '../evidence/observations.js';
import { type Possible, possibleFolds } from '../evidence/possible-documents.js';

/** What an observer has been shown last. */
interface LastView {
  readonly snapshot: Timestamp;
  readonly views: readonly ScopeView[];
}

/** An own write that its snapshot does not contain. */
type Above = Pick<LiveOwn, 'txId'> & { readonly version: StoredVersion };

/** What a document may be, and whether it has own writes that are not part of the snapshot. */
interface Expected {
  readonly values: readonly (Value | null)[];
  readonly pending: boolean | 'either';
}

/** Where the outcome of an own write is open, it lies above everything that is committed. */
const NOT_COMMITTED = Number.MAX_SAFE_INTEGER;

/**
 * Everything that an observer has is one snapshot with the session's own writes laid over (LQ1): the fold of the
 * committed history at the snapshot, then in the session's order the own writes that may still take effect, or lie
 * above it. So an own write shows in the turn of its call, and stays until its outcome is known and the snapshot has
 * it (LQ2). Where a lost disk has damaged a transaction, it may be there or not. In the end each observer has the last
 * snapshot of all (LQ3).
 */
export class LiveViewsAreSnapshots implements Check {
  readonly name = 'live-views-are-snapshots';
  readonly #shown = new Map<LiveWatch, LastView | undefined>();

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
  ) {}

  liveShown(watch: LiveWatch, snapshot: Timestamp, views: readonly ScopeView[]): void {
    const shown = { snapshot, views };
    this.#shown.set(watch, shown);
    this.#check(watch, shown, 'is shown');
  }

  liveAnew(watch: LiveWatch): void {
    this.#shown.set(watch, undefined);
  }

  /**
   * After a call or an outcome. An observer is not called for a later snapshot that shows the same: a document that an
   * own write had deleted, and that is deleted there.
   */
  liveTurned(watch: LiveWatch): void {
    const shown = this.#shown.get(watch);
    if (shown === undefined || this.#wrongIn(watch, shown, 'has') === undefined) return;
    const isAt = (snapshot: Timestamp) => this.#wrongIn(watch, { ...shown, snapshot }, 'has') === undefined;
    if (!this.#laterThan(shown.snapshot).some(isAt)) this.#check(watch, shown, 'still has');
  }

  #laterThan(snapshot: Timestamp): readonly Timestamp[] {
    const all = [...this.ledger.keys].flatMap((key) => this.ledger.chain(key).map(({ ts }) => ts));
    return [...new Set(all)].filter((ts) => ts > snapshot);
  }

  liveEnded(watch: LiveWatch): void {
    this.#shown.delete(watch);
  }

  /**
   * The first observer that does not have the last snapshot.
   * @param demandsFirst whether also one that lacks its first snapshot: where the links take longer than the client
   * waits for an answer, it may read in vain
   */
  missing(demandsFirst: boolean): string | undefined {
    const snapshot = this.ledger.lastCt;
    for (const [watch, shown] of this.#shown) {
      if (shown === undefined && !demandsFirst) continue;
      if (shown === undefined) return `${watch.name} of ${watch.session} has not been called`;
      const wrong = this.#wrongIn(watch, { ...shown, snapshot }, 'has in the end');
      if (wrong !== undefined) return wrong.message;
    }
    return undefined;
  }

  #check(watch: LiveWatch, shown: LastView, verb: string): void {
    const wrong = this.#wrongIn(watch, shown, verb);
    if (wrong !== undefined) this.context.fail(this.name, wrong.message, [wrong.key, watch.session]);
  }

  #wrongIn(
    watch: LiveWatch,
    { snapshot, views }: LastView,
    verb: string,
  ): { key: string; message: string } | undefined {
    for (const [i, { documents }] of views.entries()) {
      const scope = watch.scopes[i]!;
      for (const key of this.#keysOf(watch, documents)) {
        const document = documents.get(key);
        const expected = isInScope(scope, key) ? this.#expected(watch, snapshot, key, document) : ABSENT;
        if (isAs(document, expected)) continue;
        const has =
          document === undefined ? 'nothing' : `${textOf(document.value)}${document.pending ? ' (pending)' : ''}`;
        const wanted = `${textOf(expected.values[0])}${expected.pending === true ? ' (pending)' : ''}`;
        const message = `${watch.name} of ${watch.session} ${verb} ${key} as ${has} at ${snapshot}, not as ${wanted}`;
        return { key, message };
      }
    }
    return undefined;
  }

  #keysOf({ own }: LiveWatch, documents: ReadonlyMap<QualifiedKey, LiveDocument>): Set<QualifiedKey> {
    const written = own.flatMap(({ writes }) => writes.map(({ key }) => key));
    return new Set([...this.ledger.keys, ...documents.keys(), ...written]);
  }

  #expected({ own }: LiveWatch, snapshot: Timestamp, key: QualifiedKey, shown: LiveDocument | undefined): Expected {
    const read = shown?.value ?? null;
    const bases = this.ledger.visibleOnes(key, ({ ts }) => ts <= snapshot, read);
    const above = own.filter(({ isOut }) => !isOut).flatMap((one) => this.#above(one, snapshot, key));
    if (above.length === 0) return { values: valuesOf(bases), pending: false };
    const isOpen = ({ txId }: { txId: TxId }): boolean => this.ledger.isDamaged(txId);
    const writes = above.map(({ version }) => version);
    const values = valuesOf(possibleFolds(writes, isOpen, read, bases));
    return { values, pending: above.some(isOpen) ? 'either' : true };
  }

  /** The writes of a key in an own transaction that is not part of the snapshot. */
  #above({ txId, writes }: LiveOwn, snapshot: Timestamp, key: QualifiedKey): readonly Above[] {
    const ts = this.ledger.committed(txId)?.ct ?? NOT_COMMITTED;
    if (ts <= snapshot && !this.ledger.isDamaged(txId)) return [];
    return writes
      .filter((write) => write.key === key)
      .map(({ value }) => ({ txId, version: { ts, txId, region: '', value } }));
  }
}

const ABSENT: Expected = { values: [null], pending: false };

const valuesOf = (versions: readonly Possible[]) => versions.map((version) => version?.value ?? null);

function isAs(document: LiveDocument | undefined, { values, pending }: Expected): boolean {
  if (!values.includes(document?.value ?? null)) return false;
  return document === undefined || pending === 'either' || document.pending === pending;
}
