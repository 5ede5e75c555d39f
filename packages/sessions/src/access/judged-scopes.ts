/**
 * The scopes of a live reader, and what of their changes it may see. Each answer is judged at its end: a scope whose
 * permission is gone there ends, and a filtered one shows a document only while its rule holds (AR4). A scope without
 * changes is judged every few seconds. When the rules change, or what is known of the principal, all is read anew:
 * the reader may have documents that a filter would hide by now. So it is when another part of a range is permitted.
 */
import { IsochronError, type Principal, type QualifiedKey, type Timestamp, type WallMs, wallOf } from '@isochron/core';
import { inRange, type KeyChanges, type LiveResp, type Watch } from '@isochron/protocols';
import type { EndedScope, LiveAnswer } from '../coordinator/coordinator-port.js';
import type { Done } from '../coordinator/request-port.js';
import { type Judge, judgedRangeOf, type Place, type Question, readOf, type Versions } from './judge.js';
import { ShownBefore } from './judged-removals.js';
import type { Policy, Verdict } from './policy.js';
import { denied, unwatchable } from './refusal.js';

/** How often a scope without changes is judged, ms. */
const JUDGED_EVERY_MS = 5_000;
/** Named keys that are judged then, one part of a long scope after the other. */
const KEYS_AT_ONCE = 100;
/** Claims of a token about itself. */
const OF_THE_TOKEN: ReadonlySet<string> = new Set(['exp', 'iat', 'nbf', 'jti']);

/** A scope of the reader, and when it was judged. */
interface ScopeState {
  readonly scope: Watch;
  /** The rules when it was added; undefined where there were none. */
  readonly policy: Policy | undefined;
  /** What rules could know of the principal then. */
  readonly known: string;
  /** Where the reader's documents may be from when it was added. */
  readonly since: Timestamp;
  /** Whether documents decide which part of its range is permitted (`Policy.partsOf`), and which one that was last. */
  readonly mayMove: boolean;
  part: string | undefined;
  /** By stable time; undefined before the first answer. */
  judgedMs: WallMs | undefined;
  /** The next one of its named keys to be judged without a change. */
  next: number;
  /** Whether it is judged with the first answer, changes or not: a rule may not let it be watched. */
  isDoubtful: boolean;
}

/** A scope to be judged, and the verdict on its range; undefined for named keys. */
interface Touched {
  readonly state: ScopeState;
  readonly scope: Watch;
  readonly changes: readonly KeyChanges[];
  /** The keys whose documents are judged, unless a rule allows the whole range. */
  readonly keys: readonly QualifiedKey[];
  range?: Verdict;
}

export class JudgedScopes {
  readonly #scopes = new Map<number, ScopeState>();
  #last: (Pick<Principal, 'roles' | 'claims'> & { readonly known: string }) | undefined;

  /** @param since the timestamp after which the reader asks for changes */
  change(
    remove: readonly number[],
    add: readonly Watch[],
    policy: Policy | undefined,
    principal: Principal,
    since: Timestamp,
  ): void {
    for (const number of remove) this.#scopes.delete(number);
    if (add.length === 0) return;
    const known = this.#knownOf(principal);
    for (const scope of add) {
      const isDoubtful = policy !== undefined && refusingWatch(policy, scope) !== undefined;
      const mayMove = policy !== undefined && hasParts(policy, scope);
      const judged = { judgedMs: undefined, next: 0, isDoubtful, part: undefined };
      this.#scopes.set(scope.watch, { scope, policy, known, since, mayMove, ...judged });
    }
  }

  /** Whether a scope may end with the next answer, whatever has changed. */
  get mayEndAtOnce(): boolean {
    return [...this.#scopes.values()].some(({ isDoubtful }) => isDoubtful);
  }

  /**
   * Ends with what the reader may see of an answer; with CHANGES_GONE where it has to read anew.
   * @param after where the answer begins
   * @param hwt the session's last write: a snapshot without it does not show what is permitted now (AR3)
   */
  judge(judge: Judge, answer: LiveResp, after: Timestamp, hwt: Timestamp, done: Done<LiveAnswer>): void {
    const now = this.#knownOf(judge.principal);
    for (const { policy, known } of this.#scopes.values()) {
      if (policy !== judge.policy || known !== now) {
        done(new IsochronError('CHANGES_GONE', OTHER_RULES));
        return;
      }
    }
    const nowMs = wallOf(answer.to);
    const touched = [...this.#scopes.values()].flatMap((state) => touchedOf(state, answer, nowMs, hwt));
    const place = { snapshot: { ts: answer.to } };
    this.#judgeRanges(judge, touched, place, new Map(), (versions) => {
      if (versions instanceof IsochronError) done(versions);
      else this.#judgeKeys(judge, answer, after, touched, place, versions, done);
    });
  }

  /** What rules can know of a principal: a newer token has other times. Made anew for other roles or claims. */
  #knownOf({ id, roles, claims }: Principal): string {
    const last = this.#last;
    if (last?.roles === roles && last.claims === claims) return last.known;
    const lasting = Object.entries(claims).filter(([name]) => !OF_THE_TOKEN.has(name));
    const known = JSON.stringify([id, [...roles].sort(), lasting]);
    this.#last = { roles, claims, known };
    return known;
  }

  /** One range after the other. */
  #judgeRanges(
    judge: Judge,
    touched: readonly Touched[],
    place: Place,
    versions: Versions,
    done: Done<Versions>,
  ): void {
    const next = touched.find(({ scope, range }) => scope.ranges.length > 0 && range === undefined);
    if (next === undefined) {
      done(versions);
      return;
    }
    this.#judgeRange(judge, next.state, place, versions, (verdict) => {
      if (verdict instanceof IsochronError) done(verdict);
      else {
        next.range = verdict;
        this.#judgeRanges(judge, touched, place, versions, done);
      }
    });
  }

  /** Ends with `CHANGES_GONE` where another part of the range was permitted before: the reader may have that one. */
  #judgeRange(judge: Judge, state: ScopeState, place: Place, versions: Versions, done: Done<Verdict>): void {
    const range = judgedRangeOf(state.scope.ranges[0]!);
    judge.judgeRange(range, place, versions, (verdict) => {
      const part = verdict instanceof IsochronError ? undefined : judge.policy.partOf(verdict);
      if (!state.mayMove || part === undefined) {
        done(verdict);
        return;
      }
      partBefore(judge, state, (before) => {
        if (before instanceof IsochronError) done(before);
        else if (before.part !== undefined && before.part !== part) done(new IsochronError('CHANGES_GONE', OTHER_PART));
        else {
          state.part = part;
          done(verdict);
        }
      });
    });
  }

  /** Documents of named keys and of filtered ranges are judged one by one. */
  #judgeKeys(
    judge: Judge,
    answer: LiveResp,
    after: Timestamp,
    touched: readonly Touched[],
    place: Place,
    versions: Versions,
    done: Done<LiveAnswer>,
  ): void {
    const single = touched.filter(({ range }) => range === undefined || range.kind === 'filtered');
    const present = touched.filter(({ range }) => range?.kind !== 'refused' && !isConstant(range));
    const keys = [...new Set(present.flatMap((one) => one.keys))];
    judge.read(keys, place, versions, (error) => {
      if (error !== undefined) {
        done(error);
        return;
      }
      const asked = single.flatMap((one) => one.keys.map((key) => ({ one, question: questionOf(one, key, versions) })));
      const questions = asked.map(({ question }) => question);
      judge.judge(questions, place, versions, (verdicts) => {
        if (verdicts instanceof IsochronError) {
          done(verdicts);
          return;
        }
        const outcome = new VisibleChanges(judge, touched, versions);
        for (const [i, { one, question }] of asked.entries()) outcome.take(one, question.key, verdicts[i]!);
        const end: Done<ReadonlySet<QualifiedKey>> = (shown) => {
          if (shown instanceof IsochronError) {
            done(shown);
            return;
          }
          for (const { watch } of outcome.ended) this.#scopes.delete(watch);
          done(outcome.of(answer, shown));
        };
        new ShownBefore(judge, outcome.hidden(answer), after).find(end);
      });
    });
  }
}

/** What of a scope is judged with an answer: its changes, or now and then what it watches. */
function touchedOf(state: ScopeState, { to, changes }: LiveResp, nowMs: WallMs, hwt: Timestamp): Touched[] {
  const { scope } = state;
  const own = changes.filter(({ key }) => isIn(scope, key));
  const { isDoubtful } = state;
  state.isDoubtful = false;
  // Its first read was judged by a snapshot that this answer may not have reached yet.
  state.judgedMs ??= nowMs;
  if (own.length === 0 && !isDoubtful && (nowMs - state.judgedMs < JUDGED_EVERY_MS || to < hwt)) return [];
  state.judgedMs = nowMs;
  if (own.length > 0) return [{ state, scope, changes: own, keys: own.map(({ key }) => key) }];
  const keys = scope.keys.slice(state.next, state.next + KEYS_AT_ONCE);
  state.next = state.next + KEYS_AT_ONCE < scope.keys.length ? state.next + KEYS_AT_ONCE : 0;
  return [{ state, scope, changes: [], keys }];
}

/** The part of a scope's range that was permitted last, or when the scope was added; undefined where none was. */
function partBefore(judge: Judge, { scope, since, part }: ScopeState, done: Done<{ part: string | undefined }>): void {
  if (part !== undefined) {
    done({ part });
    return;
  }
  judge.judgeRange(judgedRangeOf(scope.ranges[0]!), { snapshot: { ts: since } }, new Map(), (verdict) => {
    if (!(verdict instanceof IsochronError)) done({ part: judge.policy.partOf(verdict) });
    else done(verdict.code === 'SNAPSHOT_TOO_OLD' ? new IsochronError('CHANGES_GONE', OTHER_PART) : verdict);
  });
}

const OTHER_RULES =
  'The access rules, or the roles and claims of the principal, have changed: read the data anew, and follow from that snapshot.';

const OTHER_PART =
  'What permits this live query has changed, and with it which documents: read the data anew, and follow from that snapshot.';

/** Whether the verdict on a range depends on no document: it was the same before, by the same rules. */
const isConstant = (range: Verdict | undefined): boolean => range?.kind === 'allowed' && range.read.size === 0;

const questionOf = ({ range }: Touched, key: QualifiedKey, versions: Versions): Question =>
  range === undefined ? readOf(key, versions.get(key)) : { ...readOf(key, versions.get(key)), verb: 'list' };

const isIn = ({ keys, ranges }: Watch, key: QualifiedKey): boolean =>
  keys.includes(key) || ranges.some((range) => inRange(range, key));

/** What the reader may see of an answer. */
class VisibleChanges {
  readonly ended: EndedScope[] = [];
  /** Keys whose changes it gets as they are. */
  readonly #whole = new Set<QualifiedKey>();
  /** Keys of which it gets the present document: it may not have been allowed to see those before. */
  readonly #present = new Set<QualifiedKey>();
  /** Keys of filtered ranges that it sees, or sees no more. */
  readonly #filtered = new Map<QualifiedKey, 'visible' | 'hidden'>();

  constructor(
    readonly judge: Judge,
    touched: readonly Touched[],
    readonly versions: Versions,
  ) {
    for (const { scope, range, changes } of touched) {
      const rule = range?.kind === 'filtered' ? refusingWatch(judge.policy, scope) : undefined;
      if (rule !== undefined) this.#end(scope, unwatchable(rule, placeOf(scope), scope.watch));
      if (range?.kind === 'refused') this.#refuse(scope, 'list', placeOf(scope), range);
      if (range?.kind !== 'allowed') continue;
      const seen = isConstant(range) ? this.#whole : this.#present;
      for (const { key } of changes) if (judge.policy.matches(range.rule, key)) seen.add(key);
    }
  }

  /** The verdict on a key of named ones, or of a filtered range. */
  take({ scope, range }: Touched, key: QualifiedKey, verdict: Verdict): void {
    if (range === undefined) {
      if (verdict.kind === 'allowed') this.#present.add(key);
      else this.#refuse(scope, 'get', key, verdict);
    } else if (verdict.kind !== 'allowed') this.#filtered.set(key, this.#filtered.get(key) ?? 'hidden');
    else this.#filtered.set(key, 'visible');
  }

  /** The changes of documents of filtered ranges that the reader does not see. */
  hidden({ changes }: LiveResp): readonly KeyChanges[] {
    return changes.filter(
      ({ key }) => this.#filtered.get(key) === 'hidden' && !this.#whole.has(key) && !this.#present.has(key),
    );
  }

  /** @param shown hidden keys of which the reader may have documents */
  of(answer: LiveResp, shown: ReadonlySet<QualifiedKey>): LiveAnswer {
    const changes = answer.changes.flatMap((change) => this.#visible(change, shown));
    return { ...answer, changes, ...(this.ended.length === 0 ? {} : { ended: this.ended }) };
  }

  /**
   * The contents since the last put may be of a time without permission, and in a filtered range the reader may lack
   * the document below an update: so it gets the present document, at whose snapshot it is allowed to read it. A
   * document of a filtered range that it may have, and sees no more, is deleted for it.
   */
  #visible(change: KeyChanges, shown: ReadonlySet<QualifiedKey>): readonly KeyChanges[] {
    const { key, contents } = change;
    if (this.#whole.has(key)) return [change];
    const seen = this.#present.has(key) ? 'visible' : this.#filtered.get(key);
    const last = contents.at(-1);
    if (seen === undefined || last === undefined || (seen === 'hidden' && !shown.has(key))) return [];
    const version = seen === 'visible' ? this.versions.get(key) : undefined;
    const { ts: ct, txId } = version ?? { ts: last.ct, txId: last.txId };
    return [{ key, contents: [{ ct, txId, content: version?.value ?? null }] }];
  }

  #refuse(scope: Watch, verb: 'get' | 'list', place: string, verdict: Verdict): void {
    const { policy, principal } = this.judge;
    const rule = verdict.kind === 'refused' ? verdict.rule : null;
    this.#end(scope, denied(policy, principal, { verb, place, watch: scope.watch, rule }));
  }

  #end({ watch }: Watch, error: IsochronError): void {
    if (!this.ended.some((one) => one.watch === watch)) this.ended.push({ watch, error });
  }
}

/** The beginning of all keys of a range. */
const placeOf = ({ ranges }: Watch): string => judgedRangeOf(ranges[0]!).prefix;

/** A rule that filters a range by other documents, or by the time. */
const refusingWatch = (policy: Policy, { ranges: [range] }: Watch): string | undefined =>
  range === undefined ? undefined : policy.unwatchableFilter(judgedRangeOf(range));

/** Whether different parts of a range may be permitted at different times. */
const hasParts = (policy: Policy, { ranges: [range] }: Watch): boolean =>
  range !== undefined && policy.partsOf(judgedRangeOf(range)).size > 1;
