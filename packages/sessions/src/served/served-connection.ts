/**
 * One connection of a session: greeting, requests in order, credits, refusals, the end. Its driver has the socket and
 * the encoding.
 */
import { IsochronError, type Principal } from '@isochron/core';
import { NO_ROOM } from '@isochron/wire/channels/channels';
import { SESSION_CLOSE, type WelcomeFrame } from '@isochron/wire/session-frames';
import { HelloFrame } from '@isochron/wire/session-frames/requests';
import type { Done } from '../coordinator/request-port.js';
import { asIsochronError } from '../requests/errors.js';
import { accessOf, requireRole } from '../requests/roles.js';
import { type Answer, isLarge, type Outgoing } from './answers.js';
import { checkOf, isFrame, type RawFrame } from './frames.js';
import { expired, principalField } from './identity.js';
import type { ServedNode, ServedSession } from './served-session.js';
import { requestsIn, Share } from './share.js';

/** Requests that a client of a server may have in flight. */
export const CREDITS = 256;
/** Frames in one message: a client with its credits needs no more, and each refused one costs an answer. */
const MAX_FRAMES = 2 * CREDITS;
const NONE: readonly unknown[] = [];
const checkHello = checkOf(HelloFrame);
/** The close codes of refused greetings that are more specific than *protocol error*. */
const HELLO_CLOSE: Readonly<Record<string, number>> = {
  UNAUTHENTICATED: SESSION_CLOSE.unauthenticated,
  NOT_READY: SESSION_CLOSE.restart,
  RATE_LIMITED: NO_ROOM.code,
};

/** Refusals for the audit of the node. */
const AUDITED: ReadonlySet<string> = new Set(['UNAUTHENTICATED', 'PERMISSION_DENIED']);

/** The way to a client. */
export interface SessionLink {
  /** Whether the client does not read: new messages wait. */
  readonly isPaused: boolean;
  /** Network address of the client; empty if unknown. */
  readonly address: string;
  /** The client's `hello` was accepted. */
  greeted?(): void;
  /** Reads nothing from the client for so long. Absent: it is always read from. */
  rest?(ms: number): void;
  /** Sends in order. All frames of one turn should leave as one message: that is most of the throughput. */
  send(outgoing: Outgoing): void;
  /** Ends the connection, after all sent frames that the client reads. No frame is sent afterwards. */
  close(code: number, reason: string): void;
}

/**
 * Rounds after a client's last request in each of which it gets the stable time: its own writes become part of that. A
 * request that waits for changes does not count: its answer has the stable time, and a client that follows changes
 * sends one after each answer.
 */
const LIVELY_ROUNDS = 5;
/** An idle client gets it once in this many rounds: often enough that it never has to ping the node. */
const IDLE_ROUNDS = 8;

export class ServedConnection {
  readonly #cancelHello: () => void;
  #greeted = false;
  /** Whether its credentials are being checked. */
  #authenticating = false;
  #sentAway = false;
  /** Version of the map that the client knows of. */
  #map = 0;
  #closed = false;
  #inFlight = 0;
  /**
   * The answered ones among them. A client has no answer before its message is processed, so they count until the next
   * one.
   */
  #answered = 0;
  #lastId = 0;
  /** From the welcome on. */
  #share: Share | undefined;
  /** Rounds since the client's last request that does not wait for changes. */
  #idleRounds = 0;

  constructor(
    readonly node: ServedNode,
    readonly session: ServedSession,
    readonly link: SessionLink,
    /** Called when the client is gone. */
    readonly gone: () => void,
  ) {
    this.#cancelHello = node.after(node.serving.helloMs, () => {
      this.#fail(new IsochronError('UNAUTHENTICATED', 'No hello in time.'), SESSION_CLOSE.unauthenticated);
    });
    session.identity.lapsed = () => this.#fail(expired(), SESSION_CLOSE.unauthenticated);
  }

  /** The client whose share of the node it uses; empty before the welcome. */
  get client(): string {
    return this.#share?.client ?? '';
  }

  /** Whether the client has used most of its share: the driver gives others their turns in between. */
  get crowds(): boolean {
    return this.#share?.isScarce === true;
  }

  /**
   * A decoded message of so many bytes, not checked yet: a frame, or an array of frames.
   * @param most requests after which the other frames are left
   * @returns the frames that are left
   */
  receive(message: unknown, bytes = 0, most = Number.POSITIVE_INFINITY): readonly unknown[] {
    this.#share?.received(bytes);
    this.#inFlight -= this.#answered;
    this.#answered = 0;
    if (!Array.isArray(message)) this.#frame(message);
    else if (message.length > MAX_FRAMES) this.#invalid(`A message holds ${MAX_FRAMES} frames at most.`);
    else return this.#frames(message, most);
    return NONE;
  }

  /** A message had more bytes than the limits allow. */
  receiveTooLarge(): void {
    const { maxRequestBytes } = this.node.rules.limits;
    const detail = `A message may have ${maxRequestBytes} bytes at most.`;
    this.#fail(new IsochronError('REQUEST_TOO_LARGE', detail), SESSION_CLOSE.tooLarge);
  }

  /** A message could not be decoded. */
  receiveUndecodable(): void {
    this.#invalid('The message cannot be decoded.');
  }

  /** The link is gone: the driver calls this once, whichever side ended it. */
  disconnected(): void {
    this.#closed = true;
    this.#cancelHello();
    this.session.end();
    this.gone();
  }

  /**
   * Sends the stable time and its freshness, unless the client has them. Called about once a second, which is a round:
   * an idle client gets them less often.
   * @param changed whether the freshness has changed by more than time, or other nodes are unresponsive than before
   */
  sendUst(changed: boolean): void {
    this.#idleRounds++;
    const waits = this.#inFlight - this.#answered > this.session.waiting;
    const due = waits || this.#idleRounds <= LIVELY_ROUNDS || this.#idleRounds % IDLE_ROUNDS === 0;
    if (!changed && !due) return;
    const ust = this.node.ust();
    if (
      !this.#greeted ||
      this.session.identity.isExpired ||
      this.link.isPaused ||
      (ust <= this.session.sentUst && !changed)
    )
      return;
    this.session.sentUst = Math.max(ust, this.session.sentUst);
    this.#report();
  }

  #report(): void {
    const map = this.#mapFields(this.#map);
    const ust = this.node.ust();
    this.#send({ type: 'ust', ust, freshness: this.node.freshness(), ...this.#unresponsive(), ...map });
  }

  /** @param known version of the map up to which the client knows all cuts */
  #mapFields(known: number): Pick<WelcomeFrame, 'map' | 'cuts'> {
    this.#map = this.node.map();
    if (this.#map === 0) return {};
    const cuts = known < this.#map ? this.node.cutsAfter(known) : [];
    return { map: this.#map, ...(cuts.length > 0 && { cuts }) };
  }

  /** Sends the client elsewhere: it may come back after `delayMs`. Until it has gone it is served. */
  goaway(reason: string, delayMs: number): void {
    if (this.#sentAway || this.#closed) return;
    this.#sentAway = true;
    if (this.#greeted) this.#send({ type: 'goaway', reason, delayMs });
    else this.#fail(this.node.serving.notReady(), SESSION_CLOSE.restart);
  }

  /** Ends the connection. */
  close(reason: string): void {
    if (!this.#closed) this.#close(SESSION_CLOSE.restart, reason);
  }

  #frames(frames: readonly unknown[], most: number): readonly unknown[] {
    let requests = 0;
    for (let i = 0; i < frames.length; i++) {
      if (requests >= most) return frames.slice(i);
      const frame = frames[i];
      requests += isFrame(frame) ? requestsIn(frame) : 1;
      this.#frame(frame);
    }
    return NONE;
  }

  #frame(frame: unknown): void {
    if (this.#closed) return;
    if (!isFrame(frame)) this.#invalid('A frame is an object.');
    else if (this.#greeted) this.#request(frame);
    else this.#hello(frame);
  }

  #hello(frame: RawFrame): void {
    // A client sends nothing else before its welcome.
    if (frame.type !== 'hello' || this.#authenticating) {
      this.#invalid('The first frame has to be hello.');
      return;
    }
    try {
      this.node.serving.admitSession();
      const { credentials, token } = checkHello(frame);
      this.#authenticating = true;
      const identified: Done<Principal> = (result) => {
        this.#authenticating = false;
        if (!this.#closed) this.#identified(result, token ?? undefined);
      };
      this.node.authenticate(credentials ?? undefined, identified, this.link.address);
    } catch (thrown) {
      this.#refuseHello(asIsochronError(thrown));
    }
  }

  #identified(principal: Principal | IsochronError, token: string | undefined): void {
    if (principal instanceof IsochronError) {
      this.#refuseHello(principal);
      return;
    }
    const client = this.node.client(principal, this.link.address);
    try {
      this.node.serving.rates.greet(client);
      this.session.begin(principal, client, token);
    } catch (thrown) {
      this.#refuseHello(asIsochronError(thrown));
      return;
    }
    this.#cancelHello();
    this.#greeted = true;
    this.#share = new Share(this.node.serving, client, () => this.node.random());
    this.#idleRounds = 0;
    this.link.greeted?.();
    this.#send(this.#welcome());
  }

  #refuseHello(error: IsochronError): void {
    if (AUDITED.has(error.code)) this.#audit(error, 'hello', undefined);
    this.#fail(error, HELLO_CLOSE[error.code] ?? SESSION_CLOSE.protocolError);
  }

  #welcome(): WelcomeFrame {
    const { id, region, cluster, protocol, rules, maxTransactionMs, stalenessAlertMs, regions } = this.node;
    const { principal } = this.session.identity;
    const { expiresAt } = principal;
    return {
      type: 'welcome',
      region,
      node: id,
      cluster,
      ...principalField(cluster, principal),
      protocol: protocol.name,
      capabilities: [...protocol.capabilities],
      ...this.session.greeting(),
      freshness: this.node.freshness(),
      ...this.#unresponsive(),
      ...this.#mapFields(this.session.knownMap ?? this.node.map()),
      ...(expiresAt === null ? {} : { expiresAt }),
      credits: this.node.credits,
      limits: rules.limits,
      maxTransactionMs,
      ...(stalenessAlertMs === undefined ? {} : { stalenessAlertMs }),
      regions,
    };
  }

  #unresponsive(): Pick<WelcomeFrame, 'unresponsive'> {
    const unresponsive = this.node.unresponsive();
    return unresponsive.nodes.length === 0 ? {} : { unresponsive };
  }

  #request(frame: RawFrame): void {
    const { id, type } = frame;
    const isServed = this.session.serves(type);
    if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 0) {
      const isUnknown = typeof type === 'string' && type !== 'hello' && !isServed;
      if (isUnknown) this.#fail(unknownType(), SESSION_CLOSE.protocolError);
      else this.#invalid('A request has no id.');
      return;
    }
    if (id <= this.#lastId) {
      const detail = `The id ${id} is not above the last one, ${this.#lastId}.`;
      this.#refuse(id, new IsochronError('REQUEST_ID_REUSED', detail));
      return;
    }
    this.#lastId = id;
    if (!isServed) this.#refuse(id, unknownType());
    else if (type !== 'authenticate' && this.session.identity.isExpired) this.#refuse(id, expired());
    else if (this.#inFlight >= this.node.credits)
      this.#refuse(id, new IsochronError('CREDITS_EXHAUSTED', `At most ${this.node.credits} in flight.`));
    else this.#serve(id, frame, this.#share!);
  }

  #serve(id: number, frame: RawFrame, share: Share): void {
    const refusal = share.refusal(frame);
    if (refusal !== undefined) {
      this.#send({ type: 'error', id, ...refusal });
      const measure = share.refused();
      if (measure === 'close') this.#close(NO_ROOM.code, refusal.code);
      else if (measure !== undefined) this.link.rest?.(measure.restMs);
      return;
    }
    this.#inFlight++;
    if (!this.session.follows(frame.type)) this.#idleRounds = 0;
    try {
      requireRole(this.session.identity.principal, accessOf(frame.type));
      this.session.serve(frame, id, (result) => this.#reply(id, result, frame));
    } catch (thrown) {
      this.#reply(id, asIsochronError(thrown), frame);
    }
  }

  #reply(id: number, result: Answer | IsochronError, { type }: RawFrame): void {
    this.#answered++;
    if (result instanceof IsochronError) {
      if (AUDITED.has(result.code)) this.#audit(result, String(type), this.session.identity.principal);
      this.#refuse(id, result);
    } else {
      if (isLarge(result)) this.#share?.answered(result.bytes);
      this.#send(result);
    }
  }

  #refuse(id: number, error: IsochronError): void {
    if (error.code === 'INTERNAL') this.node.failed(error.cause ?? error);
    this.#send({ type: 'error', id, ...fieldsOf(error) });
  }

  #audit(error: IsochronError, request: string, principal: Principal | undefined): void {
    this.node.refused({ error, principal, address: this.link.address, request });
  }

  #invalid(detail: string): void {
    this.#fail(new IsochronError('FRAME_INVALID', detail), SESSION_CLOSE.protocolError);
  }

  /** The connection cannot go on. */
  #fail(error: IsochronError, closeCode: number): void {
    if (this.#closed) return;
    this.#send({ type: 'error', ...fieldsOf(error) });
    this.#close(closeCode, error.code);
  }

  #close(code: number, reason: string): void {
    this.#closed = true;
    this.#cancelHello();
    this.link.close(code, reason);
  }

  /** The client learns of a map before anything that belongs to the map (M6). */
  #send(outgoing: Outgoing): void {
    if (this.#closed) return;
    if (this.#greeted && this.#map !== this.node.map()) this.#report();
    this.link.send(outgoing);
  }
}

const fieldsOf = ({ code, message, retryable, retryAfterMs }: IsochronError) => ({
  code,
  detail: message,
  retryable,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});

const unknownType = (): IsochronError => new IsochronError('FRAME_TYPE_UNKNOWN', 'No such type of frame.');
