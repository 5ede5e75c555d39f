/** The HTTP API of a node: the shipped machine of sessions, driven as the server drives it. */
import { IsochronError, type Timestamp, type TxId } from '@isochron/core';
import {
  type Address,
  type CommitReq,
  FEEDS_MACHINE,
  type Input,
  type Machine,
  type ReadResp,
  type Session,
  type SessionState,
} from '@isochron/protocols';
import {
  ANONYMOUS,
  ASKED_TIMER,
  ATTEMPT_PAUSE_MS,
  attemptInId,
  type Caller,
  Callers,
  ChangeDocuments,
  type CoordinatorRequest,
  type DocumentedPage,
  type Done,
  floorOf,
  mayTryAgain,
  repeatedSentAfter,
  SESSIONS_MACHINE,
  SessionsMachine,
  type SessionTokens,
  snapshotOf,
  wanted,
  withNextAttempt,
} from '@isochron/sessions';
import { type Co, run, waitFor } from '../../engine/coroutine.js';
import type { ChangesRequest, HttpAnswer, HttpNode, HttpRequest, HttpWorld, PastRequest } from '../http.js';
import type { NodeMessage } from './message.js';

/** Name of the machine that gets the coordinator's answers. */
const HTTP_MACHINE = 'http';
/** How long a read waits for the gap of its session to close, and how often it checks, ms. */
const GAP_WAIT_MS = 2_000;
const GAP_POLL_MS = 5;
/** How long a node that closes waits for requests that have begun, ms. */
const REQUESTS_MS = 3_000;
/** Bytes of documents in one message of the change feed. */
const PAGE_BYTES = 1 << 20;

type HttpRead = Extract<HttpRequest, { f: 'get' }>;
type Write = Extract<HttpRequest, { f: 'put' }>;

export class HttpFront implements HttpNode<NodeMessage>, Machine<NodeMessage> {
  readonly machines: HttpNode<NodeMessage>['machines'];
  readonly #callers: Callers;
  readonly #documents = new ChangeDocuments({ ask: (request, done) => this.#readDocuments(request, done) }, PAGE_BYTES);
  readonly #pending = new Map<number, (answer: NodeMessage) => void>();
  readonly #self: Address;
  readonly #coordinator: Address;
  #lastRef = 0;
  #ids = 0;
  #active = 0;
  #isLeaving = false;

  constructor(
    readonly world: HttpWorld<NodeMessage>,
    readonly tokens: SessionTokens,
    readonly session: (id: string, state?: SessionState) => Session,
  ) {
    const { node, region, topology, incarnation, limits } = world;
    const sessions = new SessionsMachine({
      wake: () => world.fire(SESSIONS_MACHINE, ASKED_TIMER),
      session,
      fits: () => true,
      newId: () => `${node}-${incarnation}-${this.#ids++}`,
      now: () => world.now(),
      limits,
      firstRef: incarnation * 1_000_000,
    });
    const { rules } = tokens;
    const [nodes, near] = [topology.nodes, topology.nodesOf(region)];
    const cutsAfter = (version: number) => world.cutsAfter(version);
    this.#callers = new Callers({ id: node, nodes, near, rules, ust: () => world.ust(), cutsAfter }, sessions);
    this.#self = { node, machine: HTTP_MACHINE };
    this.#coordinator = { node, machine: 'coordinator' };
    this.machines = [
      [SESSIONS_MACHINE, sessions as Machine<NodeMessage>],
      [HTTP_MACHINE, this],
    ];
  }

  step(input: Input<NodeMessage>): void {
    if (input.kind !== 'message' || !('ref' in input.message)) return;
    const done = this.#pending.get(input.message.ref);
    this.#pending.delete(input.message.ref);
    done?.(input.message);
  }

  invariants(): void {}

  describe(): object {
    return { requests: this.#pending.size };
  }

  handle(request: HttpRequest, done: (answer: HttpAnswer) => void): void {
    if (this.#isLeaving) {
      done({ status: 'refused', code: 'NOT_READY' });
      return;
    }
    this.#active++;
    run(
      this.#answer(request),
      () => true,
      (answer) => {
        this.#active--;
        done(answer);
      },
    );
  }

  leave(done: () => void): void {
    this.#isLeaving = true;
    this.#handOver(0, done);
  }

  #handOver(waited: number, done: () => void): void {
    if (this.#active === 0 || waited >= REQUESTS_MS) this.#callers.handOver(() => done());
    else this.world.after(GAP_POLL_MS, () => this.#handOver(waited + GAP_POLL_MS, done));
  }

  *#read(caller: Caller, keys: HttpRead['keys']): Co<HttpAnswer> {
    if (!(yield* this.#closes(caller))) return { status: 'refused', code: 'SESSION_GAP' };
    const { kept } = caller;
    const view = kept === undefined ? undefined : this.#callers.view({ ...caller, kept });
    const floor = view?.floor ?? floorOf(this.#callers.node.rules, caller);
    const answer = yield* this.#ask((ref) => ({ type: 'ReadReq', ref, txId: null, ...wanted(floor, null), keys }));
    if (answer.type !== 'ReadResp') {
      view?.end();
      return refusal(answer);
    }
    const snapshot = snapshotOf(answer);
    const versions = view?.over(keys, snapshot, answer.versions) ?? answer.versions;
    view?.end();
    try {
      return { status: 'read', token: this.tokens.mint(this.#callers.afterRead(caller, snapshot)), versions };
    } catch (error) {
      if (error instanceof IsochronError) return { status: 'refused', code: error.code };
      throw error;
    }
  }

  *#write(caller: Caller, { txId, writes, keyed }: Write): Co<HttpAnswer> {
    const snapshot = this.#callers.knownTo(caller);
    const { ts, deps } = snapshot;
    const { outcomeRetentionMs } = this.world;
    const ust = this.world.ust();
    const sentAfter = keyed ? repeatedSentAfter(ust, this.world.wall(), outcomeRetentionMs) : ust;
    const order = {
      txId,
      snapshot: ts,
      deps,
      hwt: caller.hwt,
      sentAfter,
      principal: 'anonymous',
      writes,
    };
    // A node makes the id of a write without a key: its home is there.
    const answer = yield* this.#commit(order, attemptInId(txId, this.world));
    if (answer.type !== 'CommitResp') return refusal(answer);
    const commit = { ts: answer.ct, deps: answer.deps };
    const next = this.#callers.committed(caller, { txId, writes, commit, map: answer.map, sent: snapshot });
    return { status: 'written', token: this.tokens.mint(next), ct: answer.ct };
  }

  *#commit(
    order: Omit<CommitReq, 'type' | 'ref' | keyof ReturnType<typeof attemptInId>>,
    attempts: ReturnType<typeof attemptInId>,
  ): Co<NodeMessage> {
    const answer = yield* this.#ask((ref) => ({ type: 'CommitReq', ref, ...order, ...attempts }));
    if (answer.type !== 'Refused' || !mayTryAgain(new IsochronError(answer.code, answer.detail), attempts))
      return answer;
    yield* waitFor<void>((resume) => this.world.after(ATTEMPT_PAUSE_MS, () => resume()));
    return yield* this.#commit(order, withNextAttempt(attempts, this.world));
  }

  *#past({ at, keys }: PastRequest): Co<HttpAnswer> {
    const answer = yield* this.#ask((ref) => ({ type: 'ReadReq', ref, txId: null, ust: 0, at, keys }));
    return answer.type === 'ReadResp' ? { status: 'past', versions: answer.versions } : refusal(answer);
  }

  *#status(txId: TxId): Co<HttpAnswer> {
    const answer = yield* this.#ask((ref) => ({ type: 'TxStatusReq', ref, txId }));
    return answer.type === 'TxStatusResp' ? { status: 'ended', state: answer.status, ts: answer.ts } : refusal(answer);
  }

  *#changes({ prefix, after, waitMs, limitBytes, documents }: ChangesRequest): Co<HttpAnswer> {
    const feeds = { node: this.world.node, machine: FEEDS_MACHINE };
    const order = { type: 'ChangesReq', prefix, after, waitMs, limitBytes } as const;
    const answer = yield* this.#ask((ref) => ({ ...order, ref }), feeds);
    if (answer.type !== 'ChangesResp') return refusal(answer);
    const wants = { values: documents, before: documents };
    const page = yield* waitFor<DocumentedPage | IsochronError>((resume) => this.#documents.add(answer, wants, resume));
    if (page instanceof IsochronError) return { status: 'refused', code: page.code };
    return { status: 'changes', ...page };
  }

  #readDocuments(request: CoordinatorRequest<'ReadReq'>, done: Done<ReadResp>): void {
    run(
      this.#ask((ref) => ({ ...request, ref })),
      () => true,
      (answer) => done(answer.type === 'ReadResp' ? answer : new IsochronError(refusalCode(answer), 'refused')),
    );
  }

  *#answer(request: HttpRequest): Co<HttpAnswer> {
    if (request.f === 'changes') return yield* this.#changes(request);
    if (request.f === 'past') return yield* this.#past(request);
    if (request.f === 'status') return yield* this.#status(request.txId);
    const caller = yield* this.#caller(request.token);
    if (caller instanceof IsochronError) return { status: 'refused', code: caller.code };
    return yield* request.f === 'get' ? this.#read(caller, request.keys) : this.#write(caller, request);
  }

  /** The caller, or the reason to refuse its token. */
  *#caller(token: HttpRead['token']): Co<Caller | IsochronError> {
    if (token === undefined) return ANONYMOUS;
    try {
      const claims = this.tokens.decode(token, this.world.latest());
      this.#callers.refuseDeferred(claims);
      return yield* waitFor<Caller>((resume) => this.#callers.resolve(claims, resume));
    } catch (error) {
      if (error instanceof IsochronError) return error;
      throw error;
    }
  }

  /** Waits until the caller's own writes are visible, up to a limit. */
  *#closes(caller: Caller): Co<boolean> {
    for (let waited: Timestamp = 0; this.#callers.hasGap(caller); waited += GAP_POLL_MS) {
      if (waited >= GAP_WAIT_MS) return false;
      yield* waitFor<void>((resume) => this.world.after(GAP_POLL_MS, () => resume()));
    }
    return true;
  }

  #ask(request: (ref: number) => NodeMessage, to = this.#coordinator): Co<NodeMessage> {
    return waitFor<NodeMessage>((resume) => {
      this.#lastRef++;
      this.#pending.set(this.#lastRef, resume);
      this.world.post({ to, from: this.#self, message: request(this.#lastRef) });
    });
  }
}

const refusalCode = (answer: NodeMessage) => (answer.type === 'Refused' ? answer.code : 'INTERNAL');

const refusal = (answer: NodeMessage): HttpAnswer => ({ status: 'refused', code: refusalCode(answer) });
