/**
 * Keeps one connection: picks the nearest endpoint, fails over, reconnects with full-jitter backoff, honours goaway.
 */

import { fullJitterMs } from '@isochron/core/backoff';
import { IsochronError } from '@isochron/core/errors';
import { wallOf } from '@isochron/core/hlc';
import type { GoawayFrame, HelloFrame, UstFrame } from '@isochron/wire/session-frames';
import { clientClosed, late } from '../errors.js';
import type { Loop, Timer } from '../loop.js';
import type { ClientSettings } from '../settings.js';
import { Connection, type ConnectionOwner } from './connection.js';
import { Dispatcher } from './dispatcher.js';
import { Endpoints } from './endpoints.js';
import { type Caller, type Cancellable, type Exchange, PingExchange } from './exchange.js';
import { firstOf, type Open } from './first-of.js';
import type { Welcome } from './frames.js';
import type { Homing } from './homing.js';
import { nearest } from './nearest.js';
import type { Renewal } from './renewal.js';

const RECONNECT_BASE_MS = 100;
/** Longest pause between rounds of attempts: while no request waits for a connection, and while one does. */
const [IDLE_CAP_MS, WAITED_FOR_CAP_MS] = [30_000, 1000];
/** How long a closed client waits for the closing handshake. */
const CLOSE_WAIT_MS = 1000;

/** The connector's reports to the client, and its questions. */
export interface ConnectorEvents {
  /** The session's newest token. */
  currentToken(): string | undefined;
  /**
   * Loads the client of a node's protocol, before the first `welcomed`. `done` gets an error if the client cannot be
   * used with it.
   */
  prepare(welcome: Welcome, done: (error?: IsochronError) => void): void;
  welcomed(welcome: Welcome): void;
  token(token: string): void;
  ust(frame: UstFrame): void;
  /** The client got, lost or changed its connection. */
  changed(): void;
}

export class Connector implements ConnectionOwner {
  readonly dispatcher: Dispatcher;
  /** Of credentials; undefined where they are not renewed. */
  renewal: Renewal | undefined;
  /** Runs a function once there are credentials. */
  ready = (run: () => void): void => run();
  readonly #loop: Loop;
  readonly #settings: ClientSettings;
  readonly #events: ConnectorEvents;
  readonly #endpoints: Endpoints;
  readonly #homing: Homing | undefined;
  #current: Connection | undefined;
  /** The current connection's node is about to close: it is used until another one is there. */
  #leaving = false;
  readonly #draining = new Set<Connection>();
  #cluster: string | undefined;
  #reconnecting = false;
  /** The pause before the next round of attempts. */
  #pause: Timer | undefined;
  /** Rounds of attempts since a connection last worked. */
  #round = 0;
  /** The last connection that worked after its welcome. */
  #proven: Connection | undefined;
  #closed = false;

  constructor(loop: Loop, bases: readonly string[], settings: ClientSettings, events: ConnectorEvents) {
    this.#loop = loop;
    this.#settings = settings;
    this.#events = events;
    this.#endpoints = new Endpoints(bases);
    this.dispatcher = new Dispatcher(loop, settings, (from, whereTo, why) => {
      if (this.#endpoints.size > 1) this.#moveOn(from, whereTo, why.message);
    });
    this.dispatcher.late = (isOffline) =>
      isOffline ? this.#endpoints.unreached('OFFLINE', 'no node could be reached in time') : late(isOffline);
    this.dispatcher.onWait = () => this.#tryEarlier();
    this.#homing =
      settings.Homing &&
      new settings.Homing(loop, this.#endpoints, settings.returnAfterMs, {
        current: () => (this.#closed ? undefined : this.#current),
        open: this.#open,
        lagMs: ({ ust, stable = ust, freshness: { now, stalenessMs } }) => wallOf(stable) - (now - stalenessMs),
        adopt: (connection) => this.#adopt(connection),
      });
  }

  get current(): Connection | undefined {
    return this.#current;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** First connection: to the nearest of all endpoints that answer. */
  start({ resolve, reject }: Caller<void>): Cancellable {
    const { all } = this.#endpoints;
    const adopt = (connection: Connection): void => {
      this.#adopt(connection);
      resolve();
    };
    const none = (): IsochronError => this.#endpoints.unreached('CONNECTION_LOST', 'no node could be reached');
    return nearest(this.#loop, all, this.#probe, none, { resolve: adopt, reject });
  }

  /** Gives everything up. Calls `done` once all sockets are closed; a second call does not. */
  close(done: () => void): void {
    if (this.#closed) done();
    else {
      this.#closed = true;
      this.dispatcher.close();
      this.#loop.closeAll(CLOSE_WAIT_MS, done);
    }
  }

  /**
   * An answer is overdue on a connection that seems alive: asks on another one. Returns whether a connection owes it.
   */
  suspect(exchange: Exchange): boolean {
    const owes = (one: Connection | undefined): boolean => one !== undefined && [...one.inFlight()].includes(exchange);
    const owing = [this.#current, ...this.#draining].filter(owes);
    for (const connection of owing) {
      this.#shun(connection!.url, 0);
      connection!.drop(new IsochronError('CONNECTION_LOST', `${connection!.url} owes an answer for too long`));
    }
    return owing.length > 0;
  }

  /** The network may have changed: sockets of the old one would be silent. */
  networkChanged(): void {
    this.#current?.ask();
    this.dispatcher.watch();
    this.#tryEarlier();
  }

  /** Ends the pause between two rounds of attempts. */
  #tryEarlier(): void {
    this.#round = 0;
    if (this.#pause === undefined) return;
    this.#loop.cancel(this.#pause);
    this.#tryAll();
  }

  refused(exchange: Exchange, error: IsochronError, connection: Connection): void {
    if (exchange instanceof PingExchange && exchange.repeats) {
      // Without the session's token the node does not know what the session has seen and written elsewhere.
      connection.drop(error);
      if (error.retryable) this.dispatcher.lost(connection, error, [exchange]);
    } else this.dispatcher.refused(exchange, error, connection);
  }

  progressed(connection: Connection): void {
    if (connection === this.#current) {
      this.#round = 0;
      this.#proven = connection;
      this.dispatcher.flush();
    } else if (this.#draining.has(connection) && connection.isIdle) connection.close();
  }

  token(token: string, connection: Connection): void {
    if (!this.#owns(connection)) return;
    this.#events.token(token);
    // To the node in use, once a credit is free. Its answer has the token of both.
    if (connection !== this.#current) this.dispatcher.submit(new PingExchange(this.#loop, token));
  }

  ust(frame: UstFrame, connection: Connection): void {
    if (this.#owns(connection)) this.#events.ust(frame);
    // The welcome of a connection that is only measured is out of date: the session has to learn of the cut (M10).
    else if (frame.cuts) connection.close();
  }

  goaway({ reason, delayMs }: GoawayFrame, connection: Connection): void {
    const now = this.#loop.nowMs;
    this.#shun(connection.url, now + delayMs);
    if (connection !== this.#current) return;
    this.#loop.debug(`leaving ${connection.url}: ${reason}`);
    // Without another endpoint, new requests wait for the node to come back: the sooner it closes, the better.
    if (this.#endpoints.candidates(now).length === 0) this.#retire();
    else this.#leaving = true;
    this.#reconnect();
  }

  closed(connection: Connection, error: IsochronError, lost: readonly Exchange[]): void {
    if (!this.#owns(connection)) {
      for (const exchange of lost) exchange.failed(error);
      return;
    }
    const wasInUse = connection === this.#current && !this.#closed;
    this.#draining.delete(connection);
    // Before its requests fail: a lost ping ends a measurement, which must not find this connection in use.
    if (wasInUse) this.#current = undefined;
    this.dispatcher.lost(connection, error, lost);
    if (!wasInUse) return;
    // A given endpoint that worked is tried first: it may lead to another node, as that of a load balancer does.
    const isKept = connection === this.#proven && error.code === 'CONNECTION_LOST';
    if (!isKept || this.#endpoints.get(connection.url)?.given !== true) this.#failed(connection.url, error);
    this.#leaving = false;
    this.#events.changed();
    this.#reconnect();
  }

  #owns(connection: Connection): boolean {
    return connection === this.#current || this.#draining.has(connection);
  }

  /** The node refuses requests that another one may serve. */
  #moveOn(from: Connection, whereTo: 'node' | 'region', why: string): void {
    for (const { url, region } of this.#endpoints.all)
      if (url === from.url || (whereTo === 'region' && region === from.region)) this.#shun(url, 0);
    if (from !== this.#current) return;
    this.#loop.debug(`leaving ${from.url}: ${why}`);
    this.#retire();
    this.#reconnect();
  }

  #shun(url: string, untilMs: number): void {
    const endpoint = this.#endpoints.get(url);
    if (endpoint === undefined) return;
    endpoint.notBeforeMs = untilMs;
    endpoint.failures++;
  }

  /** New requests go elsewhere; this connection stays open until its requests are answered. */
  #retire(): void {
    const from = this.#current;
    if (from === undefined) return;
    this.#current = undefined;
    this.#leaving = false;
    this.#draining.add(from);
    this.dispatcher.detach(from);
    if (from.isIdle) this.#loop.atTurnsEnd(() => from.close());
    this.#events.changed();
  }

  /** Rejects if the connection cannot be used: with a refusal, for another cluster, or with CONNECTION_LOST. */
  readonly #open: Open<Connection> = (endpoint, { resolve, reject }) => {
    if (this.#closed) {
      reject(clientClosed());
      return;
    }
    const settled = (error?: IsochronError): void => {
      if (error === undefined) {
        endpoint.region = connection.region;
        resolve(connection);
      } else {
        this.#failed(endpoint.url, error);
        reject(this.renewal?.refusedHello(error, connection.hello) ?? error);
      }
    };
    const connection: Connection = new Connection(
      this.#loop,
      endpoint.url,
      this.#hello(),
      this.#settings,
      this,
      (error) => {
        if (error === undefined) this.#fit(connection, settled);
        else settled(error);
      },
    );
  };

  readonly #probe: Open<Connection> = (endpoint, caller) => {
    const opened = (connection: Connection): void => {
      if (this.#endpoints.size === 1) {
        caller.resolve(connection);
        return;
      }
      connection.ping((rttMs) => {
        if (rttMs === undefined) {
          // The connection is still open if the ping was refused.
          connection.close();
          const gone = notUsable(`${endpoint.url} is gone`);
          this.#failed(endpoint.url, gone);
          caller.reject(gone);
          return;
        }
        this.#endpoints.measured(endpoint.url, rttMs, this.#loop.nowMs);
        caller.resolve(connection);
      });
    };
    this.#open(endpoint, { resolve: opened, reject: caller.reject });
  };

  #hello(): HelloFrame {
    const token = this.#events.currentToken();
    const { credentials } = this.renewal ?? this.#settings;
    return {
      type: 'hello',
      ...(token === undefined ? {} : { token }),
      ...(credentials === undefined ? {} : { credentials }),
      client: this.#settings.client,
    };
  }

  #failed(url: string, error: IsochronError): void {
    this.#endpoints.failed(url, error);
    this.#loop.debug(`${url}: ${error.message}`);
  }

  #adopt(connection: Connection): void {
    const { welcome, url } = connection;
    const token = this.#events.currentToken();
    this.#retire();
    this.#cluster = welcome.cluster;
    this.#endpoints.learn(url, welcome.regions);
    this.#endpoints.region = welcome.region;
    this.#endpoints.worked(url);
    this.#current = connection;
    this.#events.welcomed(welcome);
    // Another connection has received a newer token since this one sent its hello.
    if (token !== undefined && token !== connection.hello.token) {
      this.#events.token(token);
      connection.send([new PingExchange(this.#loop, token)]);
    }
    // Before any other request: it needs one of the credits.
    if (connection.rttMs === undefined) this.#measure(connection);
    this.dispatcher.attach(connection);
    this.renewal?.adopted(connection);
    this.#events.changed();
    this.#homing?.start();
  }

  #measure(connection: Connection): void {
    connection.ping((rttMs) => {
      if (rttMs === undefined) return;
      this.#endpoints.measured(connection.url, rttMs, this.#loop.nowMs);
      this.#events.changed();
    });
  }

  /** `done` gets an error if the connection cannot be used. */
  #fit(connection: Connection, done: (error?: IsochronError) => void): void {
    const { cluster } = connection.welcome;
    const judged = (problem?: IsochronError): void => {
      const isGone = problem === undefined && connection.isClosed;
      const error = isGone ? notUsable(`${connection.url} is gone`) : problem;
      if (error !== undefined) connection.close();
      done(error);
    };
    if (this.#cluster !== undefined && this.#cluster !== cluster)
      judged(notUsable(`${connection.url} belongs to another cluster, ${cluster}`));
    else this.#events.prepare(connection.welcome, judged);
  }

  #reconnect(): void {
    if (this.#reconnecting || this.#closed) return;
    this.#reconnecting = true;
    this.#nextRound();
  }

  get #needsAnother(): boolean {
    return !this.#closed && (this.#current === undefined || this.#leaving);
  }

  /** Tries all endpoints round after round, with a pause between rounds, until one is adopted. */
  #nextRound(): void {
    this.#reconnecting = this.#needsAnother;
    if (!this.#reconnecting) return;
    const { random } = this.#loop;
    const capMs = this.dispatcher.isWaitedFor ? WAITED_FOR_CAP_MS : IDLE_CAP_MS;
    const backoffMs = this.#round === 0 ? 0 : fullJitterMs(random, this.#round - 1, RECONNECT_BASE_MS, capMs);
    const pauseMs = Math.max(backoffMs, this.#endpoints.nextMs() - this.#loop.nowMs);
    if (pauseMs <= 0 && this.#round === 0) this.#tryAll();
    else this.#pause = this.#loop.after(pauseMs, () => this.#tryAll());
  }

  #tryAll(): void {
    this.#pause = undefined;
    if (!this.#needsAnother) {
      this.#nextRound();
      return;
    }
    this.#round++;
    const refuse = (error: IsochronError): void => this.dispatcher.refuseWaiting(error);
    this.ready(() =>
      firstOf(this.#loop, this.#endpoints.round(this.#loop), this.#open, refuse, (connection) => {
        if (connection !== undefined && this.#needsAnother) this.#adopt(connection);
        else connection?.close();
        // No other node takes the client now: the sooner this one closes, the sooner it is back.
        if (connection === undefined && this.#leaving) this.#retire();
        this.#nextRound();
      }),
    );
  }
}

const notUsable = (message: string): IsochronError => new IsochronError('CONNECTION_LOST', message);
