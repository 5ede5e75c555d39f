/**
 * Credentials that expire (U1, U3): asks the driver for new ones before that, and after a refusal, one question at a
 * time. It takes the shared code from the core's kit, and imports none of it: most applications do without this file.
 */
import type { fullJitterMs } from '@isochron/core/backoff';
import type { IsochronError } from '@isochron/core/errors';
import type { RequestFrame } from '@isochron/wire/session-frames';
import { authenticatedAnswer } from '@isochron/wire/session-frames/authenticated';
import type { Notation } from '@isochron/wire/session-frames/notation';
import type { Loop, Timer } from '../loop.js';
import type { Connection } from './connection.js';
import type { Caller, Cancellable, Carrier, Exchange, unexpected } from './exchange.js';
import type { Answer, FrameParts, Welcome } from './frames.js';
import type { LinkSettings } from './settings.js';

/** They are renewed when this part of their time is left, but not earlier than this before their end. */
const MARGIN = 1 / 4;
const MAX_MARGIN_MS = 120_000;
/** At most two questions in this time, also where credentials expire sooner. */
const MIN_PAUSE_MS = 1000;
/** After this many refused requests those that have ended meanwhile are dropped. */
const REFUSALS_PER_SWEEP = 100;
const RETRY_BASE_MS = 500;
const RETRY_CAP_MS = 30_000;

/** The part of a connection that renewal uses. */
export interface RenewedConnection {
  readonly welcome: Welcome;
  readonly hello: Greeting;
}

interface Greeting {
  readonly credentials?: string | undefined;
}

/**
 * The connector. Renewal replaces its methods, so that applications without `auth` do without code for it: those that
 * can be assigned here.
 */
export interface RenewedConnections {
  /** The connection in use. */
  readonly current: RenewedConnection | undefined;
  readonly isClosed: boolean;
  readonly dispatcher: {
    readonly submitTimed: (exchange: Exchange) => void;
    readonly resting: Set<Exchange>;
    resume(exchange: Exchange): void;
    late: (isOffline: boolean) => IsochronError;
  };
  /** Runs a function once there are credentials that are not known to be refused, or to have expired. */
  ready: (run: () => void) => void;
  start: (caller: Caller<void>) => Cancellable;
  refused: (exchange: Exchange, error: IsochronError, connection: Connection) => void;
  networkChanged: () => void;
  close: (done: () => void) => void;
}

/** The shared code: a part of `session/kit.ts`. */
export interface RenewalKit {
  readonly Exchange: typeof Exchange;
  readonly IsochronError: typeof IsochronError;
  readonly fullJitterMs: typeof fullJitterMs;
  readonly unexpected: typeof unexpected;
  readonly parts: FrameParts;
  readonly notation: Notation;
}

/** Begins the renewal of credentials: {@link openRenewal}. */
export type OpenRenewal = (
  kit: RenewalKit,
  loop: Loop,
  settings: Pick<LinkSettings, 'requestTimeoutMs'>,
  connections: RenewedConnections,
) => Renewal;

/** The rest of the connector's calls. */
export interface Renewal {
  /** The newest credentials; undefined before the first ones. */
  readonly credentials: string | undefined;
  /** The driver's answer: credentials, or an error. */
  took(answer: unknown): void;
  /** A connection has failed before its welcome. Returns its error: one that may pass while others may be accepted. */
  refusedHello(error: IsochronError, hello: Greeting): IsochronError;
  /** The connection is in use from now on. */
  adopted(connection: RenewedConnection): void;
}

export const openRenewal: OpenRenewal = (kit, loop, { requestTimeoutMs }, connections) => {
  const { Exchange, IsochronError, fullJitterMs, notation, parts, unexpected } = kit;
  const { dispatcher } = connections;
  const parse = parts.parserOf(authenticatedAnswer(notation));
  /** Requests that wait for credentials. Others rest until the times that their refusals have named. */
  const waiting = new Set<Exchange>();
  const resumeAll = (): void => {
    for (const exchange of waiting) dispatcher.resume(exchange);
    waiting.clear();
  };
  const inUse = (): RenewedConnection | undefined => (connections.isClosed ? undefined : connections.current);

  /** Passes the newest credentials to the node in use. On another connection they are part of the greeting. */
  class AuthenticateExchange extends Exchange<void> {
    #credentials: string | undefined;
    #connection: unknown;

    override get repeats(): boolean {
      return false;
    }

    /** The writes of a client that closes need it. */
    override get isWrite(): boolean {
      return true;
    }

    frame(id: number, connection: Carrier): RequestFrame {
      const { credentials = '' } = renewal;
      this.#connection = connection;
      this.#credentials = credentials;
      return { type: 'authenticate', id, credentials };
    }

    answered(frame: Answer): void {
      if (frame.type !== 'authenticated') throw unexpected(frame);
      const { now, expiresAt } = parse(frame.raw, 'authenticated');
      this.done();
      renewal.accepted(this.#credentials, expiresAt === undefined ? undefined : expiresAt - now);
    }

    override failed(reason: unknown): void {
      if (this.settled) return;
      super.failed(reason);
      const current = inUse();
      const isInUse = this.#connection === undefined || this.#connection === current;
      if (current !== undefined && isInUse) renewal.rejected(reason);
    }
  }

  class CredentialRenewal implements Renewal {
    credentials: string | undefined;
    /** Steady time from which on they are not to be used. */
    #validUntilMs = Number.NEGATIVE_INFINITY;
    /** Life time of the credentials that a node accepted last, ms. */
    #lifeMs = Number.POSITIVE_INFINITY;
    #isAsked = false;
    /** Steady times of the driver's last answer, and of the one before. */
    #answeredMs = Number.NEGATIVE_INFINITY;
    #answeredBeforeMs = Number.NEGATIVE_INFINITY;
    #failures = 0;
    /** The last failure since credentials were accepted. */
    #outage: { cause?: unknown } = {};
    /** The next question, after a pause. */
    #pause: Timer | undefined;
    /** The renewal before the credentials expire. */
    #due: Timer | undefined;
    #waiting: (() => void)[] = [];
    /** Credentials were refused at a greeting, and none accepted since; the present ones came after that. */
    #wasRefused = false;
    #isSecond = false;
    #starting: Cancellable | undefined;
    /** Requests that were refused. */
    #refusals = 0;

    /**
     * Connects once there are credentials, and once more if a node refuses the first ones. Rejects with
     * CREDENTIALS_UNAVAILABLE after the limit of a request without any.
     */
    start({ resolve, reject }: Caller<void>): Cancellable {
      let begun: Cancellable | undefined;
      let timer: Timer | undefined;
      const over = (settle: () => void): void => {
        if (this.#starting !== starting) return;
        this.#starting = undefined;
        loop.cancel(timer);
        settle();
      };
      const starting: Cancellable = {
        cancel: (reason) =>
          over(() => {
            begun?.cancel(reason);
            reject(reason);
          }),
      };
      const watch = (): void => {
        timer = loop.after(requestTimeoutMs, () => {
          if (this.#waiting.length === 0) watch();
          else starting.cancel(this.#unavailable());
        });
      };
      const failed = (reason: unknown): void => {
        if (this.#starting !== starting) return;
        const isRefused = reason instanceof IsochronError && !reason.retryable;
        if (isRefused || this.#isValid) over(() => reject(reason));
        else this.ready(begin);
      };
      const begin = (): void => {
        if (this.#starting === starting) begun = plain.start({ resolve: () => over(resolve), reject: failed });
      };
      this.#starting = starting;
      watch();
      this.ready(begin);
      return starting;
    }

    ready(run: () => void): void {
      if (this.#isValid) run();
      else {
        this.#waiting.push(run);
        this.#ask();
      }
    }

    took(answer: unknown): void {
      if (connections.isClosed) return;
      this.#isAsked = false;
      this.#answeredBeforeMs = this.#answeredMs;
      this.#answeredMs = loop.steadyMs;
      if (typeof answer !== 'string' || answer === '') {
        this.#failed(answer);
        return;
      }
      this.credentials = answer;
      this.#isSecond = this.#wasRefused;
      this.#validUntilMs = Number.POSITIVE_INFINITY;
      const those = this.#waiting;
      this.#waiting = [];
      for (const run of those) run();
      if (inUse() !== undefined) dispatcher.submitTimed(new AuthenticateExchange());
    }

    /** The network may be back, or the program stood still, and credentials have expired meanwhile: asks at once. */
    hasten(): void {
      const isOverdue = this.#due !== undefined && !this.#isValid;
      if (this.#pause === undefined && !isOverdue) return;
      this.#rest();
      loop.cancel(this.#due);
      this.#due = undefined;
      this.#ask();
    }

    refusedHello(error: IsochronError, { credentials }: Greeting): IsochronError {
      if (error.code !== 'UNAUTHENTICATED') return error;
      if (credentials === this.credentials) {
        this.#validUntilMs = Number.NEGATIVE_INFINITY;
        // Those that came longer ago than the last accepted ones lived may have expired.
        if (this.#isSecond && loop.steadyMs - this.#answeredMs < this.#lifeMs) return error;
        this.#wasRefused = true;
      }
      return this.#unavailable(error);
    }

    /** The error that a refused request gets: the request waits until the credentials are renewed. */
    refused(exchange: Exchange, error: IsochronError, connection: RenewedConnection): IsochronError {
      if (error.code !== 'UNAUTHENTICATED' || exchange instanceof AuthenticateExchange) return error;
      if (++this.#refusals % REFUSALS_PER_SWEEP === 0) this.#sweep();
      const current = inUse();
      waiting.add(exchange);
      if (connection === current) this.#ask();
      else if (current !== undefined) loop.atTurnsEnd(() => resumeAll());
      return this.#unavailable(error);
    }

    adopted({ welcome, hello }: RenewedConnection): void {
      const { expiresAt, freshness } = welcome;
      const isNewest = hello.credentials === this.credentials;
      if (isNewest) this.accepted(hello.credentials, expiresAt === undefined ? undefined : expiresAt - freshness.now);
      else dispatcher.submitTimed(new AuthenticateExchange());
    }

    /** The client is closed: a first connection under way rejects. */
    close(): void {
      this.#waiting = [];
      this.#starting?.cancel(new IsochronError('CLIENT_CLOSED', 'the client was closed'));
    }

    /** A node has accepted credentials, for this time if they expire. */
    accepted(credentials: string | undefined, leftMs: number | undefined): void {
      if (credentials !== this.credentials) return;
      this.#failures = 0;
      this.#outage = {};
      this.#wasRefused = this.#isSecond = false;
      this.#rest();
      loop.cancel(this.#due);
      this.#due = undefined;
      this.#lifeMs = leftMs ?? Number.POSITIVE_INFINITY;
      this.#validUntilMs = loop.steadyMs + this.#lifeMs;
      if (leftMs !== undefined) this.#renewBefore(leftMs);
      resumeAll();
    }

    /** New credentials were not accepted on the connection in use: by the node, or for lack of an answer. */
    rejected(reason: unknown): void {
      this.#validUntilMs = Number.NEGATIVE_INFINITY;
      this.#failed(reason);
    }

    /** The error of a request without an answer in time while credentials are awaited. */
    late(): IsochronError | undefined {
      return this.#waiting.length > 0 ? this.#unavailable() : undefined;
    }

    get #isValid(): boolean {
      return loop.steadyMs < this.#validUntilMs;
    }

    /** With jitter: clients that began together do not come back together. */
    #renewBefore(leftMs: number): void {
      const marginMs = Math.min(MAX_MARGIN_MS, leftMs * MARGIN) * (0.5 + loop.random() / 2);
      this.#due = loop.after(Math.max(0, leftMs - marginMs), () => {
        this.#due = undefined;
        this.#ask();
      });
    }

    /** Without a connection the next one asks. */
    #ask(): void {
      const isNeeded = this.#waiting.length > 0 || inUse() !== undefined;
      if (!isNeeded || this.#isAsked || this.#pause !== undefined) return;
      const pauseMs = this.#answeredBeforeMs + MIN_PAUSE_MS - loop.steadyMs;
      if (pauseMs > 0) this.#askAfter(pauseMs);
      else {
        this.#isAsked = true;
        loop.out.authenticate();
      }
    }

    #askAfter(pauseMs: number): void {
      this.#rest();
      this.#pause = loop.after(pauseMs, () => {
        this.#pause = undefined;
        this.#ask();
      });
    }

    #rest(): void {
      loop.cancel(this.#pause);
      this.#pause = undefined;
    }

    /** Requests that wait for credentials in vain stay no longer than their callers. */
    #sweep(): void {
      for (const exchange of waiting) if (exchange.settled) waiting.delete(exchange);
      for (const exchange of dispatcher.resting) if (exchange.settled) dispatcher.resting.delete(exchange);
    }

    #failed(cause: unknown): void {
      this.#outage.cause = cause;
      loop.warn(`no new credentials: ${String(cause)}`);
      this.#askAfter(MIN_PAUSE_MS + fullJitterMs(loop.random, this.#failures++, RETRY_BASE_MS, RETRY_CAP_MS));
    }

    /** Its cause is the last failure, also one that is still to come. */
    #unavailable(refusal?: IsochronError): IsochronError {
      const outage = this.#outage;
      const error = new IsochronError('CREDENTIALS_UNAVAILABLE', 'no new credentials were accepted in time');
      return Object.defineProperty(error, 'cause', { get: () => outage.cause ?? refusal });
    }
  }

  const renewal = new CredentialRenewal();
  const plain = {
    late: dispatcher.late,
    start: connections.start.bind(connections),
    refused: connections.refused.bind(connections),
    networkChanged: connections.networkChanged.bind(connections),
    close: connections.close.bind(connections),
  };
  dispatcher.late = (isOffline) => renewal.late() ?? plain.late(isOffline);
  connections.ready = (run) => renewal.ready(run);
  connections.start = (caller) => renewal.start(caller);
  connections.refused = (exchange, error, connection) =>
    plain.refused(exchange, renewal.refused(exchange, error, connection), connection);
  connections.networkChanged = () => {
    renewal.hasten();
    plain.networkChanged();
  };
  connections.close = (done) => {
    renewal.close();
    plain.close(done);
  };
  return renewal;
};
