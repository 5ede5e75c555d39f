/**
 * Returns to a nearer endpoint after a failover, and detects when another one has become the nearest. It imports
 * nothing at run time: an application of one endpoint does without this file.
 */
import type { Loop, Timer } from '../loop.js';
import type { Connection } from './connection.js';
import type { Endpoint, Endpoints } from './endpoints.js';
import type { Caller } from './exchange.js';
import type { Welcome } from './frames.js';

/** Searches come at doubling intervals, up to this one. A measurement is valid for as long. */
const MAX_PAUSE_MS = 600_000;
/** A round trip counts as shorter by this factor and this many ms: by more than chance. */
const NEARER_FACTOR = 1.5;
const NEARER_BY_MS = 2;
/** A node whose stable time is further than this behind what the session has seen has not caught up. */
const CAUGHT_UP_MS = 1000;

/** What homing needs from the connector. */
export interface HomingPorts {
  /** The connection in use. */
  current(): Connection | undefined;
  open(endpoint: Endpoint, caller: Caller<Connection>): void;
  /** Distance of the node's own stable time behind the session's, which the welcome gives back. */
  lagMs(welcome: Welcome): number;
  /** Moves to a connection; requests under way on the present one end there. */
  adopt(connection: Connection): void;
}

/** An endpoint that may be nearer. */
interface Probe {
  readonly connection: Connection;
  readonly rttMs: number;
}

export class Homing {
  #timer: Timer | undefined;
  #pauseMs = 0;

  /** @param returnAfterMs time to the first search */
  constructor(
    readonly loop: Loop,
    readonly endpoints: Endpoints,
    readonly returnAfterMs: number,
    readonly ports: HomingPorts,
  ) {}

  /** A connection is in use: a nearer one may exist. */
  start(): void {
    this.#pauseMs = this.returnAfterMs;
    this.#schedule();
  }

  #schedule(): void {
    this.loop.cancel(this.#timer);
    const url = this.ports.current()?.url;
    if (!Number.isFinite(this.#pauseMs) || !this.endpoints.all.some((other) => other.given && other.url !== url))
      return;
    // Without jitter, all clients of a returning region would come back at once.
    const pauseMs = this.#pauseMs * (0.75 + this.loop.random() / 2);
    this.#pauseMs = Math.min(MAX_PAUSE_MS, 2 * this.#pauseMs);
    this.#timer = this.loop.after(pauseMs, () => this.#look());
  }

  #look(): void {
    const present = this.ports.current();
    // Without a connection the connector searches for one, and starts this anew.
    if (present === undefined) return;
    const unsure = this.endpoints.unmeasured(this.loop.nowMs, MAX_PAUSE_MS).filter(({ url }) => url !== present.url);
    // While all credits are in use the present distance cannot be measured.
    if (unsure.length === 0 || present.free <= 0) {
      this.#schedule();
      return;
    }
    const found: Probe[] = [];
    let presentMs = Number.POSITIVE_INFINITY;
    let left = 1 + unsure.length;
    const measured = (): void => {
      left--;
      if (left === 0) this.#choose(present, presentMs, found);
    };
    roundTrip(present, (rttMs) => {
      presentMs = rttMs;
      measured();
    });
    for (const endpoint of unsure)
      this.#probe(endpoint, (probe) => {
        if (probe !== undefined) found.push(probe);
        measured();
      });
  }

  #choose(present: Connection, presentMs: number, found: Probe[]): void {
    const best = found.sort((a, b) => a.rttMs - b.rttMs)[0];
    const moves =
      best !== undefined &&
      best.rttMs * NEARER_FACTOR + NEARER_BY_MS < presentMs &&
      this.ports.current() === present &&
      !best.connection.isClosed;
    for (const probe of found) if (!moves || probe !== best) probe.connection.close();
    if (moves) this.ports.adopt(best.connection);
    else if (this.ports.current() === present) this.#schedule();
  }

  /** Opens and measures an endpoint; undefined if it is not healthy. */
  #probe(endpoint: Endpoint, done: (probe: Probe | undefined) => void): void {
    const opened = (connection: Connection): void => {
      const measured = (rttMs: number): void => {
        if (Number.isFinite(rttMs)) {
          this.endpoints.measured(endpoint.url, rttMs, this.loop.nowMs);
          done({ connection, rttMs });
          return;
        }
        connection.close();
        done(undefined);
      };
      if (this.#isHealthy(connection)) roundTrip(connection, measured);
      else measured(Number.POSITIVE_INFINITY);
    };
    this.ports.open(endpoint, { resolve: opened, reject: () => done(undefined) });
  }

  /**
   * The node has caught up, and stable time at the present node does not wait for its region: that region may be cut
   * off from the others.
   */
  #isHealthy({ welcome, region }: Connection): boolean {
    const heldBackBy = this.ports.current()?.freshness.heldBackBy;
    return this.ports.lagMs(welcome) <= CAUGHT_UP_MS && heldBackBy?.region !== region;
  }
}

/** The shorter of two measurements; infinite if the connection is lost meanwhile. */
function roundTrip(connection: Connection, done: (rttMs: number) => void): void {
  connection.ping((first) => {
    if (first === undefined) done(Number.POSITIVE_INFINITY);
    else connection.ping((second) => done(second === undefined ? Number.POSITIVE_INFINITY : Math.min(first, second)));
  });
}
