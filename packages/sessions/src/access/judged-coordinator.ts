/**
 * A coordinator whose operations are judged by access rules, each in the snapshot that it reads (AR1). It stands
 * between a session and the coordinator of its node.
 */
import {
  holderOf,
  IsochronError,
  type ListRange,
  type NodeId,
  type Origin,
  type Principal,
  type QualifiedKey,
  type Timestamp,
  type TxId,
  type Version,
  type WallMs,
} from '@isochron/core';
import type {
  ChangesReq,
  ChangesResp,
  CommitReq,
  CommitResp,
  ListReq,
  ListResp,
  LiveReq,
  ReadReq,
  ReadResp,
} from '@isochron/protocols';
import type {
  CoordinatorAnswer,
  CoordinatorPort,
  CoordinatorPortFor,
  CoordinatorRequest,
  CoordinatorRequests,
  CoordinatorRequestType,
  LiveAnswer,
} from '../coordinator/coordinator-port.js';
import { storedTxId } from '../coordinator/owned-ids.js';
import type { Done, RequestHandler, RequestHandlers, Unreferenced } from '../coordinator/request-port.js';
import { asIsochronError } from '../requests/errors.js';
import { originOf } from '../requests/origin.js';
import { snapshotOf, wanted } from '../snapshot.js';
import type { ListPlace, ListPlaces } from '../tokens/list-places.js';
import { hasChanged, Judge, judgedRangeOf, type Place, readOf, type Versions } from './judge.js';
import { JudgedScopes } from './judged-scopes.js';
import { judgeWrites, NotYetPermitted } from './judged-writes.js';
import type { Policy, Verdict } from './policy.js';
import { listDenied, notYetVisible, permissionMoved, refusalIn } from './refusal.js';
import { endRefused } from './refused-commits.js';

/** The rules of a node, and its audit. */
export interface AccessRules {
  /** The rules now; undefined while there is none: everything is allowed. */
  readonly policy: Policy | undefined;
  /** An operation was refused. */
  refused(principal: Principal, error: IsochronError): void;
}

/** The session of a judged coordinator. */
export interface JudgedSession {
  readonly principal: Principal;
  /** The highest commit timestamp of its own writes. */
  readonly hwt: Timestamp;
  /** The clock of the coordinator, ms. */
  now(): WallMs;
  /** The places at which its lists go on. */
  readonly places: ListPlaces;
  /** Ends with stable time, once that has reached `ts`, or with an error after a while. */
  visible(ts: Timestamp, done: Done<Timestamp>): void;
}

/** Longest wait of a request for changes, ms: permission is judged with its answer. */
const MAX_WAIT_MS = 5_000;

export class JudgedCoordinator implements CoordinatorPort {
  /** The requests that are judged; the coordinator gets the others as they are. */
  readonly #handlers: Partial<RequestHandlers<CoordinatorRequests>> = {
    ReadReq: (request, done, node) => this.#read(request, done, node),
    ListReq: (request, done, node) => this.#list(request, done, node),
    CommitReq: (request, done, node) => this.#commit(request, done, node),
    ChangesReq: (request, done) => this.#changes(request, done),
    LiveReq: (request, done) => this.#live(request, done),
    LiveEnd: (request, done) => {
      this.#turn++;
      this.port.ask(request, done);
    },
  };
  readonly #scopes = new JudgedScopes();
  /** Requests of the live reader so far. */
  #turn = 0;

  constructor(
    readonly port: CoordinatorPort,
    readonly rules: AccessRules,
    readonly session: JudgedSession,
  ) {}

  /** Undefined while there are no rules. */
  get #judge(): Judge | undefined {
    const { policy } = this.rules;
    return policy && new Judge(this.port, policy, this.session.principal);
  }

  ask<T extends CoordinatorRequestType>(
    request: CoordinatorRequest<T>,
    done: Done<CoordinatorAnswer<T>>,
    node?: NodeId,
  ): void {
    const handler: RequestHandler<CoordinatorRequests, T> | undefined = this.#handlers[request.type];
    if (handler === undefined) this.port.ask(request, done, node);
    else handler(request, done, node);
  }

  #read(request: Unreferenced<ReadReq>, done: Done<ReadResp>, coordinator: NodeId | undefined): void {
    const judge = this.#judge;
    const ask = (asked: Unreferenced<ReadReq>, end: Done<ReadResp>) => this.port.ask(asked, end, coordinator);
    if (judge === undefined) ask(request, done);
    else
      this.#judged(
        request,
        undefined,
        ask,
        (result, end) => this.#judgeRead(judge, request, result, coordinator, end),
        done,
      );
  }

  /**
   * Reads the document of a decided claim. A principal that may not read it learns only whether its claim made it: the
   * claim has taken effect, and its decision is its answer (AR2).
   * @param txId the transaction of the claim, as its client names it
   */
  claim(request: Unreferenced<ReadReq>, txId: TxId, done: Done<ClaimRead>): void {
    this.port.ask(request, (answer) => {
      const judge = this.#judge;
      if (answer instanceof IsochronError) done(answer);
      else if (judge === undefined) done(shown(answer));
      else
        this.#judgeRead(judge, request, answer, undefined, (result) => {
          if (!(result instanceof IsochronError)) done(shown(result));
          else
            done(
              result.code === 'PERMISSION_DENIED'
                ? hidden(answer, request.at, storedTxId(txId, holderOf(this.session.principal)))
                : result,
            );
        });
    });
  }

  /** The number of keys that a page examines does not depend on what is hidden of them (AR10). */
  #list(request: Unreferenced<ListReq>, done: Done<ListResp>, coordinator: NodeId | undefined): void {
    const holder = holderOf(this.session.principal);
    const { places } = this.session;
    let place: ListPlace | undefined;
    try {
      place = places.open(request.range.start, holder);
    } catch (thrown) {
      done(asIsochronError(thrown));
      return;
    }
    const range = place === undefined ? request.range : { ...request.range, start: place.next };
    const judge = this.#judge;
    const ask = (asked: Unreferenced<ListReq>, end: Done<ListResp>) => this.port.ask(asked, end, coordinator);
    if (judge === undefined) ask({ ...request, range }, done);
    else {
      const from = place ?? { shown: range.start, pages: 0, next: range.start };
      const unasked = places.work(range.start, holder);
      const work = { ...range, limit: range.limit + unasked };
      this.#judged(
        { ...request, range: work },
        undefined,
        ask,
        (result, end) =>
          this.#judgeList(judge, work, unasked, result, coordinator, (visible) => {
            if (visible instanceof IsochronError) end(visible);
            else end(pageOf(visible, range.limit, from, (next) => places.seal(next, holder)));
          }),
        done,
      );
    }
  }

  /** Writes are judged before anything is prepared (AR2), in the snapshot and on the newest versions (AR8). */
  #commit(request: Unreferenced<CommitReq>, done: Done<CommitResp>, coordinator: NodeId | undefined): void {
    const judge = this.#judge;
    const { hwt, writes } = request;
    if (judge === undefined || writes.length === 0) {
      this.port.ask(request, done, coordinator);
      return;
    }
    const ask = (asked: Unreferenced<ReadReq>, end: Done<ReadResp>) => this.port.ask(asked, end, coordinator);
    this.#judged<Unreferenced<ReadReq>, ReadResp, object>(
      readOfCommit(request),
      hwt,
      ask,
      (result, end) => {
        const place = { snapshot: snapshotOf(result), coordinator };
        judgeWrites(judge, writes, result, place, this.session.now(), end);
      },
      (result) => {
        if (result instanceof IsochronError) endRefused(this.port, request, result, done, coordinator);
        else this.port.ask(request, done, coordinator);
      },
    );
  }

  /** A page is judged at its end, and its permission must have been the same since its beginning (AR4). */
  #changes(request: Unreferenced<ChangesReq>, done: Done<ChangesResp>): void {
    const asked = this.#waiting(request);
    this.#nextChanges(asked, this.session.now() + asked.waitMs, this.#audited(done), true);
  }

  /**
   * A page whose changes are all hidden is no answer: the wait goes on, as if nothing had changed (LQ7).
   * @param mayLackOwn whether a page below own writes is asked for once more when stable time has reached them (AR3)
   */
  #nextChanges(request: Unreferenced<ChangesReq>, untilMs: WallMs, done: Done<ChangesResp>, mayLackOwn: boolean): void {
    this.port.ask(request, (page) => {
      const judge = this.#judge;
      const { hwt } = this.session;
      const refused: Done<ChangesResp> = (denial) => {
        if (!mayLackOwn || page instanceof IsochronError || page.to >= hwt) done(denial);
        else
          this.session.visible(hwt, (stable) => {
            if (stable instanceof IsochronError) done(notYetVisible());
            else this.#nextChanges({ ...request, waitMs: 0 }, untilMs, done, false);
          });
      };
      const judged: Done<ChangesResp> = (result) => {
        const waitMs = untilMs - this.session.now();
        if (result instanceof IsochronError || page instanceof IsochronError) done(result);
        else if (page.transactions.length === 0 || !isEmpty(result) || waitMs <= 0) done(result);
        else
          this.#nextChanges(
            { ...request, after: page.to, waitMs },
            untilMs,
            (next) => done(next instanceof IsochronError ? next : { ...next, from: page.from }),
            mayLackOwn,
          );
      };
      if (page instanceof IsochronError || judge === undefined) done(page);
      else this.#judgePage(judge, request.prefix ?? '', page, judged, refused);
    });
  }

  /** An answer is judged at its end (AR4). */
  #live(request: Unreferenced<LiveReq>, done: Done<LiveAnswer>): void {
    const { remove, add, after } = request;
    this.#scopes.change(remove, add, this.rules.policy, this.session.principal, after);
    const asked = this.#waiting(request);
    const waitMs = this.#scopes.mayEndAtOnce ? 0 : asked.waitMs;
    this.#nextLive({ ...asked, waitMs }, this.session.now() + waitMs, ++this.#turn, this.#audited(done));
  }

  /**
   * An answer whose changes are all hidden is none: the wait goes on, as if nothing had changed (LQ7).
   * @param turn of the reader: its next request ends the one that waits
   */
  #nextLive(request: Unreferenced<LiveReq>, untilMs: WallMs, turn: number, done: Done<LiveAnswer>): void {
    this.port.ask(request, (answer) => {
      const judge = this.#judge;
      if (answer instanceof IsochronError || judge === undefined) done(answer);
      else
        this.#scopes.judge(judge, answer, request.after, this.session.hwt, (result) => {
          const waitMs = untilMs - this.session.now();
          const isHidden = answer.changes.length > 0 && !(result instanceof IsochronError) && isUnchanged(result);
          if (!isHidden || waitMs <= 0 || turn !== this.#turn) done(result);
          else this.#nextLive({ ...request, add: [], remove: [], after: answer.to, waitMs }, untilMs, turn, done);
        });
    });
  }

  /** A request for changes, which is judged with its answer, by the rules of that time: under rules it comes soon. */
  #waiting<R extends { readonly waitMs: number }>(request: R): R {
    if (this.rules.policy === undefined) return request;
    return { ...request, waitMs: Math.min(request.waitMs, MAX_WAIT_MS) };
  }

  #judgeRead(
    judge: Judge,
    { keys }: Unreferenced<ReadReq>,
    result: ReadResp,
    coordinator: NodeId | undefined,
    done: Done<ReadResp>,
  ): void {
    const place = { snapshot: snapshotOf(result), coordinator };
    const versions: Versions = new Map(keys.map((key, i) => [key, result.versions[i] ?? null]));
    const questions = keys.map((key) => readOf(key, versions.get(key)));
    judge.judge(questions, place, versions, (verdicts) => {
      if (verdicts instanceof IsochronError) done(verdicts);
      else done(refusalIn(judge, questions, verdicts) ?? result);
    });
  }

  /** Ends with the visible keys of an answer. @param unasked keys of the range above the limit of its reader */
  #judgeList(
    judge: Judge,
    range: ListRange,
    unasked: number,
    result: ListResp,
    coordinator: NodeId | undefined,
    done: Done<ListResp>,
  ): void {
    const place = { snapshot: snapshotOf(result), coordinator };
    const versions: Versions = new Map(result.entries.map(({ key, version }) => [key, version]));
    const shown = (isVisible: (key: QualifiedKey) => boolean): void =>
      done({ ...result, entries: result.entries.filter(({ key }) => isVisible(key)) });
    const judged = judgedRangeOf(range);
    judge.judgeRange(judged, place, versions, (verdict) => {
      if (verdict instanceof IsochronError) done(verdict);
      else if (verdict.kind === 'allowed') shown((key) => judge.policy.matches(verdict.rule, key));
      else if (verdict.kind === 'filtered') this.#filter(judge, result, place, versions, unasked, done, shown);
      else done(listDenied(judge, judged.prefix, verdict));
    });
  }

  #filter(
    judge: Judge,
    result: ListResp,
    place: Place,
    versions: Versions,
    unasked: number,
    done: Done<ListResp>,
    shown: (isVisible: (key: QualifiedKey) => boolean) => void,
  ): void {
    const questions = result.entries.map(({ key, version }) => ({ ...readOf(key, version), verb: 'list' as const }));
    const show: Done<readonly Verdict[]> = (verdicts) => {
      if (verdicts instanceof IsochronError) done(verdicts);
      else {
        const visible = new Set(questions.filter((_, i) => verdicts[i]!.kind === 'allowed').map(({ key }) => key));
        shown((key) => visible.has(key));
      }
    };
    judge.judge(questions, place, versions, show, unasked);
  }

  /**
   * A snapshot may lack the latest own writes of the session. What is refused there is judged once more in a snapshot
   * that has them, and read in that one (AR3). As long as there is none, the refusal may pass.
   * @param own the highest own write that a commit names; a commit may choose another snapshot than its transaction's
   */
  #judged<R extends SnapshotFields, A, T>(
    request: R,
    own: Timestamp | undefined,
    ask: (request: R, done: Done<A>) => void,
    judge: (answer: A, done: Done<T>) => void,
    done: Done<T>,
  ): void {
    const end = this.#audited(done);
    const highest = Math.max(this.session.hwt, own ?? 0);
    const isFree = request.at === null && (request.txId === null || own !== undefined);
    const attempt = (asked: R, then: Done<T>): void =>
      ask(asked, (answer) => {
        if (answer instanceof IsochronError) then(answer);
        else judge(answer, then);
      });
    attempt(request, (result) => {
      if (!isRefusal(result)) end(result);
      else if (isFree && highest > request.ust)
        this.session.visible(highest, (stable) => {
          if (stable instanceof IsochronError) end(notYetVisible());
          else attempt({ ...request, txId: null, ust: Math.max(highest, request.ust) }, end);
        });
      else if (result instanceof NotYetPermitted && request.txId !== null) end(result.denied);
      else end(result);
    });
  }

  /** @param refused gets the refusal of a page that no rule allows at its end */
  #judgePage(
    judge: Judge,
    prefix: string,
    page: ChangesResp,
    done: Done<ChangesResp>,
    refused: Done<ChangesResp>,
  ): void {
    const place = { snapshot: { ts: page.to } };
    const versions: Versions = new Map();
    judge.judgeRange({ prefix }, place, versions, (verdict) => {
      if (verdict instanceof IsochronError) done(verdict);
      else if (verdict.kind !== 'allowed') refused(listDenied(judge, prefix, verdict));
      else if (page.transactions.length === 0) done(page);
      else if ([...verdict.read].some((key) => hasChanged(versions.get(key), page.from))) done(permissionMoved());
      else done({ ...page, transactions: visibleIn(page, (key) => judge.policy.matches(verdict.rule, key)) });
    });
  }

  #audited<T>(done: Done<T>): Done<T> {
    return (result) => {
      if (result instanceof IsochronError && result.code === 'PERMISSION_DENIED')
        this.rules.refused(this.session.principal, result);
      done(result);
    };
  }
}

/** The document of a claim in the claim's snapshot. */
export interface ClaimRead {
  readonly answer: ReadResp;
  /** Null without a document, and for a reader that may not read it. */
  readonly version: Version | null;
  /** The version that made the document. Without permission to read that, only a claim's own version is named. */
  readonly origin: Origin | null;
}

function shown(answer: ReadResp): ClaimRead {
  const version = answer.versions[0] ?? null;
  return { answer, version, origin: originOf(version) };
}

function hidden(answer: ReadResp, at: Timestamp | null, txId: TxId): ClaimRead {
  const origin = originOf(answer.versions[0]);
  return { answer, version: null, origin: origin?.ts === at && origin.txId === txId ? origin : null };
}

/** Reads the document of a claim through any coordinator (F7). @param txId see {@link JudgedCoordinator.claim} */
export function readClaim(
  port: CoordinatorPortFor<'ReadReq'>,
  request: Unreferenced<ReadReq>,
  txId: TxId,
  done: Done<ClaimRead>,
): void {
  if (port instanceof JudgedCoordinator) port.claim(request, txId, done);
  else port.ask(request, (answer) => done(answer instanceof IsochronError ? answer : shown(answer)));
}

/** The part of a request that names its snapshot. */
type SnapshotFields = Pick<Unreferenced<ReadReq>, 'txId' | 'ust' | 'at'>;

/**
 * The read of the written keys: in the open transaction, or else in a stable snapshot at or above the one that the
 * commit names. A client that names an old snapshot must not get back a permission that it has lost.
 */
function readOfCommit({ txId, snapshot, deps, writes }: Unreferenced<CommitReq>): Unreferenced<ReadReq> {
  const keys = writes.map(({ key }) => key);
  if (snapshot === null) return { type: 'ReadReq', txId, ...wanted({ ts: 0 }, null), keys, newest: true };
  return { type: 'ReadReq', txId: null, ...wanted({ ts: snapshot, deps }, null), keys, newest: true };
}

const isRefusal = (result: unknown): result is IsochronError =>
  result instanceof NotYetPermitted || (result instanceof IsochronError && result.code === 'PERMISSION_DENIED');

/** The first visible keys. The place of the next page is sealed: it may be a hidden key. */
function pageOf(
  visible: ListResp,
  limit: number,
  { shown, pages }: ListPlace,
  seal: (place: ListPlace) => QualifiedKey,
): ListResp {
  const entries = visible.entries.slice(0, limit);
  const next = visible.entries[limit]?.key ?? visible.next;
  if (next === null) return { ...visible, entries, next };
  const last = entries.at(-1)?.key;
  return { ...visible, entries, next: seal({ shown: last ?? shown, pages: last === undefined ? pages + 1 : 0, next }) };
}

const visibleIn = ({ transactions }: ChangesResp, isVisible: (key: QualifiedKey) => boolean) =>
  transactions
    .map((tx) => ({ ...tx, writes: tx.writes.filter(({ key }) => isVisible(key)) }))
    .filter(({ writes }) => writes.length > 0);

const isEmpty = ({ transactions }: ChangesResp): boolean => transactions.length === 0;
const isUnchanged = ({ changes, ended }: LiveAnswer): boolean => changes.length === 0 && ended === undefined;
