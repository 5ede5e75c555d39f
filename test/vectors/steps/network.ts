/** Sockets between a client and a cluster, on a simulated clock, with the troubles of a theme. */
import type { Random } from '@isochron/core';
import type { ErrorCode } from '@isochron/core/errors';
import type { ClientFrame, HelloFrame, RequestFrame, ServerFrame, Unresponsive } from '@isochron/wire/session-frames';
import { drawChoice, REGIONS } from '../drawing.js';
import { Cluster, type FakeNode, isHello, type OpenTransactions, refusalFrame } from './cluster.js';
import { damaged } from './damage.js';
import type { StepInput } from './format.js';
import { Issuer } from './issuer.js';
import type { StepProtocol } from './protocols.js';
import type { Fault, Theme } from './themes.js';

interface Socket {
  readonly node: FakeNode | undefined;
  readonly open: OpenTransactions;
  greeted: boolean;
  /** The steady time at which its credentials expire. */
  expiresAtMs: number;
  /** Its last commit, and the outcome; undefined while undecided. */
  commit: { readonly tx: string; readonly isCommitted: boolean | undefined } | undefined;
}

/**
 * A commit begins after its predecessor has committed, waits while that is not answered, and is refused otherwise.
 */
function commitBehind(state: Socket, frame: RequestFrame): ServerFrame | 'waits' | undefined {
  if (frame.type !== 'commit' || frame.after === undefined) return undefined;
  const { tx, isCommitted = undefined } = state.commit ?? {};
  if (tx === frame.after && isCommitted === true) return undefined;
  const isBlocked = tx !== frame.after || isCommitted === false;
  state.commit = { tx: frame.tx, isCommitted: isBlocked ? false : undefined };
  return isBlocked ? refusalFrame(frame.id, 'SESSION_BLOCKED') : 'waits';
}

interface Arrival {
  readonly atMs: number;
  readonly input: StepInput;
}

/** A refusal of all writes at a node, in a region, or everywhere. */
interface Spell {
  readonly code: ErrorCode;
  readonly untilMs: number;
  readonly at: (node: FakeNode) => boolean;
}

const isWrite = (frame: RequestFrame): boolean => frame.type === 'commit' || frame.type === 'put';

/** A pause of a node, ms. */
const PAUSES_MS = [50, 400, 1500, 4000, 12_000];

export class Network {
  readonly cluster: Cluster;
  readonly #random: Random;
  readonly #theme: Theme;
  readonly #issuer: Issuer;
  readonly #sockets = new Map<number, Socket>();
  #arrivals: Arrival[] = [];
  #spell: Spell | undefined;
  /** No more troubles: every wait ends. */
  #healed = false;

  constructor(protocol: StepProtocol, theme: Theme, random: Random) {
    this.cluster = new Cluster(protocol, random, theme.suspends);
    this.#theme = theme;
    this.#random = random;
    this.#issuer = new Issuer(random);
  }

  heal(): void {
    this.#healed = true;
    this.#spell = undefined;
    for (const node of this.cluster.nodes) {
      node.downUntilMs = 0;
      node.silentUntilMs = 0;
    }
  }

  /** The time of the next arrival. */
  get nextMs(): number {
    return this.#arrivals[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  /** The next arrival; undefined if its socket has closed. */
  take(): StepInput | undefined {
    const { input } = this.#arrivals.shift()!;
    if ('socket' in input && !this.#sockets.has(input.socket)) return undefined;
    if (input.do === 'closed') this.#sockets.delete(input.socket);
    return input;
  }

  open(socket: number, url: string, nowMs: number): void {
    const node = this.cluster.nodes.find(({ base }) => url.startsWith(base.replace('http:', 'ws:')));
    this.#sockets.set(socket, {
      node,
      open: new Map(),
      greeted: false,
      expiresAtMs: Number.POSITIVE_INFINITY,
      commit: undefined,
    });
    if (node === undefined) this.#arrive(nowMs + 1, { do: 'closed', socket, code: 1006, reason: 'no such host' });
    else if (nowMs < node.downUntilMs)
      this.#arrive(nowMs + node.delayMs, { do: 'closed', socket, code: 1006, reason: 'refused' });
    else if (nowMs >= node.silentUntilMs) this.#arrive(nowMs + 2 * node.delayMs, { do: 'opened', socket });
  }

  /** The client asks the application for credentials. */
  authenticate(nowMs: number): void {
    const given = this.#issuer.give(nowMs, this.#healed);
    if (given === undefined) return;
    const { afterMs, ...credentials } = given;
    this.#arrive(nowMs + afterMs, { do: 'credentials', ...credentials });
  }

  close(socket: number, abrupt: boolean, nowMs: number): void {
    const { node } = this.#sockets.get(socket) ?? {};
    const isSilent = node !== undefined && nowMs < node.silentUntilMs;
    const afterMs = abrupt ? 0 : isSilent || this.#chance(0.1) ? 5000 : 2 * (node?.delayMs ?? 0);
    this.#arrive(nowMs + afterMs, { do: 'closed', socket, code: abrupt ? 1006 : 1000, reason: '' });
  }

  /** The answers to the requests of one message are sent in one message, or in several. */
  send(socket: number, frames: readonly ClientFrame[], nowMs: number): void {
    const state = this.#sockets.get(socket);
    if (state?.node === undefined) return;
    const { node } = state;
    const together: ServerFrame[] = [];
    for (const frame of frames) {
      this.cluster.times.pass();
      if (nowMs < node.silentUntilMs || nowMs < node.downUntilMs) continue;
      if (isHello(frame)) this.#hello(socket, state, node, frame, nowMs);
      else this.#request(socket, state, node, frame, nowMs, together);
    }
    if (together.length > 0) this.#deliver(socket, node, nowMs, together);
  }

  /** A node sends a report without a request. */
  report(nowMs: number): void {
    const greeted = [...this.#sockets].filter(([, { greeted }]) => greeted);
    if (greeted.length === 0) return;
    const [socket, { node }] = this.#random.pick(greeted);
    if (node !== undefined) this.#deliver(socket, node, nowMs, [this.cluster.ust(this.#unresponsive())]);
  }

  #hello(socket: number, state: Socket, node: FakeNode, hello: HelloFrame, nowMs: number): void {
    if (this.#chance(this.#theme.refusedHello)) {
      const refusal = this.#random.pick([
        4400,
        4401,
        1012,
        1015,
        'UNAUTHENTICATED',
        'NOT_READY',
        'TOKEN_INVALID',
      ] as const);
      if (typeof refusal === 'number')
        this.#arrive(nowMs + 2 * node.delayMs, { do: 'closed', socket, code: refusal, reason: 'refused' });
      else this.#deliver(socket, node, nowMs, [refusalFrame(undefined, refusal)]);
      return;
    }
    const leftMs = this.#theme.expires && this.#issuer.leftMs(hello.credentials, nowMs);
    if (this.#theme.expires && leftMs === undefined) {
      this.#deliver(socket, node, nowMs, [refusalFrame(undefined, 'UNAUTHENTICATED')]);
      return;
    }
    state.greeted = true;
    const welcome = this.cluster.welcome(node, hello, this.#unresponsive());
    if (leftMs !== undefined) state.expiresAtMs = nowMs + leftMs;
    const expiresAt = leftMs === undefined ? {} : { expiresAt: welcome.freshness.now + leftMs };
    this.#deliver(socket, node, nowMs, [{ ...welcome, ...expiresAt }]);
  }

  /** The answer to new credentials, and to every request once the old ones have expired. */
  #judge(state: Socket, frame: RequestFrame, nowMs: number): ServerFrame | undefined {
    const { id } = frame;
    if (frame.type !== 'authenticate') {
      if (nowMs >= state.expiresAtMs) return refusalFrame(id, 'UNAUTHENTICATED');
      return undefined;
    }
    const leftMs = this.#issuer.leftMs(frame.credentials, nowMs);
    if (leftMs === undefined) return refusalFrame(id, 'UNAUTHENTICATED');
    state.expiresAtMs = nowMs + leftMs;
    const now = this.cluster.freshness().now;
    return { type: 'authenticated', id, now, expiresAt: now + leftMs };
  }

  #request(
    socket: number,
    state: Socket,
    node: FakeNode,
    frame: RequestFrame,
    nowMs: number,
    together: ServerFrame[],
  ): void {
    const { open } = state;
    const drawn = this.#fault(frame);
    // Sometimes a commit overtakes its predecessor.
    const behind = this.#chance(0.03) ? undefined : commitBehind(state, frame);
    if (behind === 'waits') return;
    const judged = this.#theme.expires && this.#judge(state, frame, nowMs);
    const expired = judged?.type === 'error' ? judged : undefined;
    const refusal = expired ?? behind ?? this.#refusal(node, frame, drawn === 'refused', nowMs);
    const fault = refusal === undefined ? drawn : 'none';
    if (fault === 'cutBefore') {
      this.#cut(socket, node, nowMs);
      return;
    }
    const answer = refusal ?? judged ?? this.cluster.answer(node, frame, open);
    if (frame.type === 'commit') {
      const isLost = fault !== 'none' && fault !== 'late' && fault !== 'goaway';
      state.commit = { tx: frame.tx, isCommitted: isLost ? undefined : answer.type === 'committed' };
    }
    const pauseMs = this.#random.pick(PAUSES_MS);
    switch (fault) {
      case 'swallowed':
        return;
      case 'cutAfter':
        this.#cut(socket, node, nowMs);
        return;
      case 'silent':
        node.silentUntilMs = nowMs + pauseMs;
        return;
      case 'down':
        node.downUntilMs = nowMs + pauseMs;
        for (const [other, { node: its }] of this.#sockets) if (its === node) this.#cut(other, node, nowMs);
        return;
      case 'late':
        this.#deliver(socket, node, nowMs + pauseMs, [answer]);
        return;
      case 'damaged':
        this.#deliverText(socket, node, nowMs, damaged(this.#random, answer));
        return;
      case 'goaway': {
        const delayMs = this.#random.pick([0, 200, 3000]);
        this.#deliver(socket, node, nowMs, [{ type: 'goaway', reason: 'restart', delayMs }]);
        if (this.#random.chance(0.5))
          this.#arrive(nowMs + 1000, { do: 'closed', socket, code: 1012, reason: 'restart' });
        this.#deliver(socket, node, nowMs + this.#random.pick([0, 30, 400]), [answer]);
        return;
      }
      default:
        if (this.#random.chance(0.6)) together.push(answer);
        else this.#deliver(socket, node, nowMs + this.#random.pick([0, 1, 15]), [answer]);
    }
  }

  /** Most pings are answered. */
  #fault(frame: RequestFrame): Fault {
    const fault = this.#healed ? 'none' : drawChoice(this.#random, this.#theme.faults);
    return frame.type === 'ping' && this.#random.chance(0.6) ? 'none' : fault;
  }

  #refusal(node: FakeNode, frame: RequestFrame, isRefused: boolean, nowMs: number): ServerFrame | undefined {
    const spell = this.#spell;
    if (spell !== undefined && isWrite(frame) && nowMs < spell.untilMs && spell.at(node))
      return refusalFrame(frame.id, spell.code);
    if (!isRefused) return undefined;
    const code = this.#random.pick(isWrite(frame) ? this.#theme.writeCodes : this.#theme.codes);
    if (isWrite(frame) && this.#random.chance(this.#theme.spell)) this.#begin(code, node, nowMs);
    return refusalFrame(frame.id, code);
  }

  #begin(code: ErrorCode, node: FakeNode, nowMs: number): void {
    const at = this.#random.pick([
      (other: FakeNode) => other === node,
      (other: FakeNode) => other.region === node.region,
      () => true,
    ]);
    this.#spell = { code, untilMs: nowMs + this.#random.pick(PAUSES_MS), at };
  }

  #unresponsive(): Unresponsive | undefined {
    if (!this.#chance(this.#theme.unresponsive)) return undefined;
    const regions = REGIONS.filter(() => this.#random.chance(0.4));
    return { nodes: regions.map((region) => `a node of ${region}`), regions };
  }

  #chance(p: number): boolean {
    return !this.#healed && this.#random.chance(p);
  }

  #cut(socket: number, node: FakeNode, nowMs: number): void {
    this.#arrive(nowMs + node.delayMs, { do: 'closed', socket, code: 1006, reason: '' });
  }

  #deliver(socket: number, node: FakeNode, nowMs: number, frames: readonly ServerFrame[]): void {
    this.#deliverText(socket, node, nowMs, JSON.stringify(frames.length === 1 ? frames[0] : frames));
  }

  #deliverText(socket: number, node: FakeNode, nowMs: number, data: string): void {
    this.#arrive(nowMs + 2 * node.delayMs, { do: 'message', socket, data });
  }

  #arrive(atMs: number, input: Arrival['input']): void {
    let at = this.#arrivals.length;
    while (at > 0 && this.#arrivals[at - 1]!.atMs > atMs) at--;
    this.#arrivals.splice(at, 0, { atMs, input });
  }
}
