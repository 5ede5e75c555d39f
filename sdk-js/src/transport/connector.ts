/** Keeps one connection: picks the nearest endpoint, fails over, reconnects with full-jitter backoff, honours goaway. */
import { IsochronError } from '@isochron/core/errors';
import type { GoawayFrame, HelloFrame, UstFrame } from '@isochron/wire/session-frames';
import { fullJitterMs } from '../backoff.js';
import { toIsochronError } from '../errors.js';
import type { Settings } from '../options.js';
import { Connection, type ConnectionOwner } from './connection.js';
import { Dispatcher, unreachable } from './dispatcher.js';
import { type Endpoint, Endpoints } from './endpoints.js';
import type { Exchange } from './exchange.js';
import { firstOf } from './first.js';
import type { Welcome } from './frames.js';
import { Homing } from './homing.js';
import { nearest } from './nearest.js';

const RECONNECT_BASE_MS = 100;
const RECONNECT_CAP_MS = 30_000;
/** How long a closed client waits for the closing handshake. */
const CLOSE_WAIT_MS = 1000;

/** What the connector tells the client, and asks of it. */
export interface ConnectorEvents {
  /** The session's newest token. */
  currentToken(): string | undefined;
  /** Loads what the protocol of a node needs, before the first `welcomed`. Rejects where the client cannot be used with it. */
  prepare(welcome: Welcome): Promise<void>;
  welcomed(welcome: Welcome): void;
  token(token: string): void;
  ust(frame: UstFrame): void;
  /** The connection, or the lack of one, has changed. */
  changed(): void;
}

export class Connector implements ConnectionOwner {
  readonly dispatcher: Dispatcher;
  readonly #settings: Settings;
  readonly #events: ConnectorEvents;
  readonly #endpoints: Endpoints;
  readonly #homing: Homing;
  #current: Connection | undefined;
  /** The current connection's node is about to close: it is used until another one is there. */
  #leaving = false;
  readonly #draining = new Set<Connection>();
  #cluster: string | undefined;
  #reconnecting = false;
  /** Rounds of attempts since a connection was of use. */
  #round = 0;
  #closed = false;
  #wake: () => void = () => {};

  constructor(bases: readonly string[], settings: Settings, events: ConnectorEvents) {
    this.#settings = settings;
    this.#events = events;
    this.#endpoints = new Endpoints(bases);
    this.dispatcher = new Dispatcher(settings, (from, whereTo, why) => {
      if (this.#endpoints.size > 1) this.#moveOn(from, whereTo, why.message);
    });
    this.#homing = new Homing(this.#endpoints, settings, {
      current: () => (this.#closed ? undefined : this.#current),
      open: (endpoint) => this.#open(endpoint),
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
  async start(signal?: AbortSignal): Promise<void> {
    const attempts = this.#endpoints.all.map((endpoint) => this.#probe(endpoint));
    const urls = this.#endpoints.all.map((endpoint) => endpoint.url);
    const connection = await nearest(attempts, (cause) => unreachable(urls, cause), signal);
    this.#adopt(connection);
  }

  /** Gives everything up. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#homing.stop();
    this.dispatcher.close();
    this.#wake();
    const connections = [...this.#draining, ...(this.#current === undefined ? [] : [this.#current])];
    for (const connection of connections) connection.close();
    await Promise.all(connections.map((connection) => within(connection, CLOSE_WAIT_MS)));
  }

  /** An answer is overdue on a connection that seems alive: asks on another one. */
  suspect(exchange: Exchange): void {
    for (const connection of [this.#current, ...this.#draining]) {
      if (connection !== undefined && [...connection.inFlight()].includes(exchange))
        connection.drop(new IsochronError('CONNECTION_LOST', `${connection.url} owes an answer for too long`));
    }
  }

  refused(exchange: Exchange, error: IsochronError, connection: Connection): void {
    this.dispatcher.refused(exchange, error, connection);
  }

  progressed(connection: Connection): void {
    if (connection === this.#current) {
      this.#round = 0;
      this.dispatcher.flush();
    } else if (this.#draining.has(connection) && connection.isIdle) connection.close();
  }

  token(token: string, connection: Connection): void {
    if (!this.#owns(connection)) return;
    this.#events.token(token);
    if (connection !== this.#current) this.#current?.tell(token);
  }

  ust(frame: UstFrame, connection: Connection): void {
    if (this.#owns(connection)) this.#events.ust(frame);
  }

  goaway({ reason, delayMs }: GoawayFrame, connection: Connection): void {
    const now = performance.now();
    this.#shun(connection.url, now + delayMs);
    if (connection !== this.#current) return;
    this.#settings.logger.debug(`leaving ${connection.url}: ${reason}`);
    // Without anywhere else to go, what comes waits for the node to come back: it closes the sooner.
    if (this.#endpoints.candidates(now).length === 0) this.#retire();
    else this.#leaving = true;
    this.#reconnect();
  }

  closed(connection: Connection, error: IsochronError, lost: readonly Exchange[]): void {
    if (!this.#owns(connection)) {
      for (const exchange of lost) exchange.failed(error);
      return;
    }
    this.#draining.delete(connection);
    this.dispatcher.lost(connection, error, lost);
    if (connection !== this.#current || this.#closed) return;
    this.#current = undefined;
    this.#failed(connection.url, error);
    this.#leaving = false;
    this.#events.changed();
    this.#reconnect();
  }

  #owns(connection: Connection): boolean {
    return connection === this.#current || this.#draining.has(connection);
  }

  /** Requests are refused here that may be served elsewhere. */
  #moveOn(from: Connection, whereTo: 'node' | 'region', why: string): void {
    const its = whereTo === 'node' ? [] : this.#endpoints.all.filter(({ region }) => region === from.region);
    for (const url of new Set([from.url, ...its.map((endpoint) => endpoint.url)])) this.#shun(url, 0);
    if (from !== this.#current) return;
    this.#settings.logger.debug(`leaving ${from.url}: ${why}`);
    this.#retire();
    this.#reconnect();
  }

  #shun(url: string, untilMs: number): void {
    const endpoint = this.#endpoints.get(url);
    if (endpoint === undefined) return;
    endpoint.notBeforeMs = untilMs;
    endpoint.failures++;
  }

  /** New requests go elsewhere; this connection stays open until it has answered what it owes. */
  #retire(): void {
    const from = this.#current;
    if (from === undefined) return;
    this.#current = undefined;
    this.#leaving = false;
    this.#draining.add(from);
    this.dispatcher.detach(from);
    if (from.isIdle) queueMicrotask(() => from.close());
    this.#events.changed();
  }

  /** Rejects where it cannot be used: with a refusal, for another cluster, or with CONNECTION_LOST. */
  async #open(endpoint: Endpoint): Promise<Connection> {
    try {
      const connection = await Connection.open(endpoint.url, this.#hello(), this.#settings, this);
      await this.#fit(connection);
      endpoint.region = connection.region;
      return connection;
    } catch (error) {
      this.#failed(endpoint.url, error);
      throw error;
    }
  }

  async #probe(endpoint: Endpoint): Promise<Connection> {
    const connection = await this.#open(endpoint);
    if (this.#endpoints.size > 1) this.#endpoints.measured(endpoint.url, await connection.ping());
    return connection;
  }

  #hello(): HelloFrame {
    const token = this.#events.currentToken();
    const { credentials } = this.#settings;
    return {
      type: 'hello',
      ...(token === undefined ? {} : { token }),
      ...(credentials === undefined ? {} : { credentials }),
      client: 'isochron-js/0.1.0',
    };
  }

  #failed(url: string, error: unknown): void {
    const endpoint = this.#endpoints.get(url);
    if (endpoint !== undefined) endpoint.failures++;
    this.#settings.logger.debug(`${url}: ${toIsochronError(error).message}`);
  }

  #adopt(connection: Connection): void {
    const { welcome, url } = connection;
    const token = this.#events.currentToken();
    this.#retire();
    this.#cluster = welcome.cluster;
    this.#endpoints.learn(url, welcome.regions);
    this.#endpoints.region = welcome.region;
    const endpoint = this.#endpoints.get(url);
    if (endpoint !== undefined) endpoint.failures = 0;
    this.#current = connection;
    this.#events.welcomed(welcome);
    // Another connection has told of more since this one said hello.
    if (token !== undefined && token !== connection.helloToken) {
      this.#events.token(token);
      connection.tell(token);
    }
    // Before anything else is sent: it needs one of the credits.
    if (connection.rttMs === undefined) this.#measure(connection);
    this.dispatcher.attach(connection);
    this.#events.changed();
    this.#homing.start();
  }

  #measure(connection: Connection): void {
    const measured = (rttMs: number): void => {
      this.#endpoints.measured(connection.url, rttMs);
      this.#events.changed();
    };
    // A connection that is lost meanwhile is reported by `closed`.
    connection.ping().then(measured, () => this.#settings.logger.debug(`${connection.url}: a ping was lost`));
  }

  /** Rejects where the connection cannot be used. */
  async #fit(connection: Connection): Promise<void> {
    const { cluster } = connection.welcome;
    try {
      if (this.#cluster !== undefined && this.#cluster !== cluster)
        throw new IsochronError('CONNECTION_LOST', `the endpoint belongs to another cluster, ${cluster}`);
      await this.#events.prepare(connection.welcome);
      if (connection.isClosed)
        throw new IsochronError('CONNECTION_LOST', `${connection.url} has closed the connection`);
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  #reconnect(): void {
    if (this.#reconnecting || this.#closed) return;
    this.#reconnecting = true;
    this.#attempts()
      .catch((error: unknown) => this.#settings.logger.warn(`reconnecting failed: ${toIsochronError(error).message}`))
      .finally(() => {
        this.#reconnecting = false;
        if (this.#needsAnother) this.#reconnect();
      });
  }

  get #needsAnother(): boolean {
    return !this.#closed && (this.#current === undefined || this.#leaving);
  }

  /** Round after round over all endpoints, with a pause between rounds, until one is adopted. */
  async #attempts(): Promise<void> {
    while (this.#needsAnother) {
      await this.#pause();
      if (!this.#needsAnother) return;
      this.#round++;
      const candidates = this.#endpoints.candidates(performance.now());
      const refuse = (error: IsochronError): void => this.dispatcher.refuseWaiting(error);
      const connection = await firstOf(candidates, (endpoint) => this.#open(endpoint), refuse);
      if (connection === undefined) {
        // Nobody else takes the client now: the sooner the node closes, the sooner it is back.
        if (this.#leaving) this.#retire();
        continue;
      }
      if (this.#needsAnother) this.#adopt(connection);
      else connection.close();
    }
  }

  async #pause(): Promise<void> {
    const { random } = this.#settings;
    const backoffMs =
      this.#round === 0 ? 0 : fullJitterMs(random, this.#round - 1, RECONNECT_BASE_MS, RECONNECT_CAP_MS);
    const pauseMs = Math.max(backoffMs, this.#endpoints.nextMs() - performance.now());
    if (pauseMs <= 0 && this.#round === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pauseMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function within(connection: Connection, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      connection.terminate();
      resolve();
    }, ms);
    connection.whenClosed.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
