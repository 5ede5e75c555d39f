/**
 * The position of all live scopes: their documents at one snapshot, how they move to the next one, and how new scopes
 * join (LQ1–LQ3). `live.ts` has the rules.
 */
import { fullJitterMs } from '@isochron/core/backoff';
import type { IsochronError } from '@isochron/core/errors';
import { packWall } from '@isochron/core/hlc';
import type { QualifiedKey, Timestamp } from '@isochron/core/ids';
import { laidOver } from '@isochron/protocols/kernel/transactions/write-cache';
import type { Timer } from '../loop.js';
import type { ClientCore } from '../session/core.js';
import type { OutcomeExchange } from '../session/outcome.js';
import { Documents } from './documents.js';
import type { KeyChanges, LiveAnswer } from './frames.js';
import { OwnWrites } from './own-writes.js';
import { isUndecided, Reading } from './reading.js';
import type { Scope } from './scope.js';
import { ScopeIndex } from './scope-index.js';

const REREAD_BASE_MS = 100;
const REREAD_CAP_MS = 10_000;

/** A request that was answered. */
export interface AnsweredRequest {
  /** It named the scopes whose `since` is at or below. */
  readonly number: number;
  readonly after: Timestamp;
}

/** An answer that waits until own writes are decided. */
interface Held {
  readonly request: AnsweredRequest;
  readonly answer: LiveAnswer;
  readonly doubts: readonly OutcomeExchange[];
}

export interface PositionEvents {
  /** All scopes that are observed. */
  scopes(): Iterable<Scope>;
  /** An answer has been applied. */
  applied(answer: LiveAnswer): void;
  /** First reads are complete, and join with the next changes, or have joined. */
  complete(): void;
  /** A scope cannot be read. */
  failed(scope: Scope, error: IsochronError): void;
}

export class Position {
  /** Undefined until the first scope is live. */
  at: Timestamp | undefined;
  readonly #index = new ScopeIndex();
  readonly #own: OwnWrites;
  readonly documents: Documents;
  readonly #readings = new Set<Reading>();
  #held: readonly Held[] = [];
  /** Times that the log did not go back to the position, since the last answer. */
  #gone = 0;
  #pause: Timer | undefined;
  #expected: Timestamp = 0;

  constructor(
    readonly core: ClientCore,
    readonly events: PositionEvents,
  ) {
    const { session, queue } = core;
    this.#own = new OwnWrites(session.export().cache, queue.undecided, {
      expected: () => this.#expect(),
      changed: (keys) => this.documents?.refresh(keys),
      decided: () => this.#release(),
    });
    this.documents = new Documents(this.#own, this.#index);
    queue.follower = this.#own;
  }

  #expect(): Timestamp {
    const { clock, loop, session } = this.core;
    const nodeMs = clock.nowMs(loop.steadyMs);
    this.#expected = Math.max(this.#expected, packWall(nodeMs), this.at ?? 0, session.ust, session.hwt);
    return this.#expected;
  }

  /** Gives everything up. */
  end(): void {
    this.core.queue.follower = undefined;
    this.core.loop.cancel(this.#pause);
    this.#endReadings();
  }

  /** Begins with new scopes. */
  read(scopes: Iterable<Scope>): void {
    const fed = this.#gone > 0 ? undefined : this.core.session.ust;
    const reading = new Reading(this.core, scopes, fed, {
      complete: () => {
        this.#joinAll();
        this.events.complete();
      },
      failed: (scope, error) => this.events.failed(scope, error),
    });
    this.#readings.add(reading);
  }

  /** A scope is not observed any more. */
  drop(scope: Scope): void {
    this.#index.delete(scope);
    this.documents.drop(scope);
    for (const reading of this.#readings) if (!reading.without(scope)) this.#readings.delete(reading);
    this.#joinAll();
  }

  /** The lowest position of a scope; undefined while none is fed. */
  get after(): Timestamp | undefined {
    const all = this.#some('live') ? [this.at!] : [];
    for (const { position } of this.#readings) if (position !== undefined) all.push(position);
    return all.length > 0 ? Math.min(...all) : undefined;
  }

  /** Whether a scope waits for the position to reach its first read. */
  get isBehind(): boolean {
    const isLive = this.#some('live');
    return [...this.#readings].some((reading) => isReady(reading) && (isLive || this.#standsAlone(reading)));
  }

  /** The answer to a request. */
  answered(request: AnsweredRequest, answer: LiveAnswer): void {
    const doubts = this.core.queue.inDoubt;
    // Deferred commits lie above the position, which does not move until they are committed again (M10).
    if (doubts.length > 0 || this.core.session.isBehind) this.#held = [...this.#held, { request, answer, doubts }];
    else this.#apply(request, answer);
  }

  /** The log does not go back to the position: reads all scopes anew. */
  gone(): void {
    if (this.after === undefined) return;
    this.#endReadings();
    this.#held = [];
    for (const scope of this.events.scopes()) if (scope.state === 'live') scope.state = 'stale';
    const { loop } = this.core;
    loop.cancel(this.#pause);
    const pauseMs = fullJitterMs(loop.random, this.#gone++, REREAD_BASE_MS, REREAD_CAP_MS);
    this.#pause = loop.after(pauseMs, () => {
      this.#endReadings();
      this.read(this.events.scopes());
    });
  }

  #endReadings(): void {
    for (const reading of this.#readings) reading.end();
    this.#readings.clear();
  }

  /** Own writes have been decided. */
  #release(): void {
    const held = this.#held;
    this.#held = [];
    for (const one of held) {
      if (this.core.session.isBehind || one.doubts.some(isUndecided)) this.#held = [...this.#held, one];
      else this.#apply(one.request, one.answer);
    }
    this.#joinAll();
  }

  #apply({ number, after }: AnsweredRequest, answer: LiveAnswer): void {
    const { changes, to } = answer;
    this.#gone = 0;
    const isNamed = ({ since }: Scope): boolean => since <= number;
    for (const reading of this.#readings) if ([...reading.scopes].every(isNamed)) reading.take(changes, after, to);
    const shown = [...this.events.scopes()].filter(({ state }) => state !== 'reading');
    const moves = shown.length > 0 && shown.every((scope) => scope.state === 'live' && isNamed(scope));
    if (moves && after <= this.at!) this.#advance(changes, to);
    this.#joinAll();
    this.events.applied(answer);
  }

  #advance(changes: readonly KeyChanges[], to: Timestamp): void {
    const at = this.at!;
    const touched = new Set<QualifiedKey>();
    for (const [key, all] of changes) {
      const later = all.filter(({ ct }) => ct > at);
      if (later.length === 0 || this.#index.of(key).length === 0) continue;
      this.documents.set(key, laidOver(this.documents.value(key), later) ?? null);
      touched.add(key);
    }
    this.#moveTo(Math.max(at, to), touched);
  }

  /** @param touched keys whose documents may have changed */
  #moveTo(at: Timestamp, touched: Set<QualifiedKey>): void {
    this.at = at;
    this.core.session.observe({ ts: at });
    for (const key of this.#own.passed(at)) touched.add(key);
    this.documents.refresh(touched);
  }

  /** First reads whose time has come join the position, or make it. */
  #joinAll(): void {
    for (const reading of this.#readings) {
      if (!isReady(reading)) continue;
      if (!this.#standsAlone(reading)) {
        if (this.#meets(reading)) this.#join(reading);
        // It may have begun before the position got there: nothing that was shown goes back.
      } else if (reading.position! >= (this.at ?? 0)) this.#begin(reading);
    }
  }

  /** Whether no other scope has documents. */
  #standsAlone({ scopes }: Reading): boolean {
    return [...this.events.scopes()].every(
      (scope) => scope.state === 'reading' || (scope.state === 'stale' && scopes.has(scope)),
    );
  }

  /** Whether its documents are those of the position. */
  #meets({ position }: Reading): boolean {
    return !this.#some('stale') && position === this.at;
  }

  #begin(reading: Reading): void {
    const keys = this.documents.replace(reading.documents());
    this.#enter(reading);
    for (const key of this.#own.keys()) keys.add(key);
    this.#moveTo(reading.position!, keys);
  }

  #join(reading: Reading): void {
    const documents = reading.documents();
    this.#enter(reading);
    for (const [key, value] of documents) this.documents.set(key, value);
    this.documents.refresh(new Set([...documents.keys(), ...this.#own.keys()]));
  }

  #enter(reading: Reading): void {
    this.#readings.delete(reading);
    for (const scope of reading.scopes) {
      if (scope.state === 'reading') this.#index.add(scope);
      scope.state = 'live';
    }
  }

  #some(state: Scope['state']): boolean {
    for (const scope of this.events.scopes()) if (scope.state === state) return true;
    return false;
  }
}

const isReady = ({ snapshot, isInDoubt }: Reading): boolean => snapshot !== undefined && !isInDoubt;
