/** Finds the way back to a nearer endpoint after a failover, and finds out when another one has become the nearest. */
import { wallOf } from '@isochron/core/hlc';
import { toIsochronError } from '../errors.js';
import type { Settings } from '../options.js';
import type { Connection } from './connection.js';
import type { Endpoint, Endpoints } from './endpoints.js';
import type { Welcome } from './frames.js';

/** Looks come at doubling distances, up to this one. A measurement is good for as long. */
const MAX_PAUSE_MS = 600_000;
/** A round trip is shorter when it is shorter by more than chance: by this factor, and by so many ms. */
const NEARER_FACTOR = 1.5;
const NEARER_BY_MS = 2;
/** A node whose stable time is behind what the session has seen by more than this has not caught up. */
const CAUGHT_UP_MS = 1000;

/** What it asks of the connector. */
export interface HomingPorts {
  /** The connection in use. */
  current(): Connection | undefined;
  open(endpoint: Endpoint): Promise<Connection>;
  /** Goes over to a connection; what is under way on the present one ends there. */
  adopt(connection: Connection): void;
}

export class Homing {
  readonly #endpoints: Endpoints;
  readonly #settings: Settings;
  readonly #ports: HomingPorts;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pauseMs = 0;

  constructor(endpoints: Endpoints, settings: Settings, ports: HomingPorts) {
    this.#endpoints = endpoints;
    this.#settings = settings;
    this.#ports = ports;
  }

  /** A connection is in use: there may be a nearer one. */
  start(): void {
    this.#pauseMs = this.#settings.returnAfterMs;
    this.#schedule();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    this.stop();
    const url = this.#ports.current()?.url;
    if (!Number.isFinite(this.#pauseMs) || !this.#endpoints.all.some((other) => other.given && other.url !== url))
      return;
    // All clients of a region that comes back would come back at once.
    const pauseMs = this.#pauseMs * (0.75 + this.#settings.random() / 2);
    this.#pauseMs = Math.min(MAX_PAUSE_MS, 2 * this.#pauseMs);
    this.#timer = setTimeout(() => {
      this.#look().catch((error: unknown) => this.#settings.logger.warn(toIsochronError(error).message));
    }, pauseMs);
  }

  async #look(): Promise<void> {
    const present = this.#ports.current();
    // Without a connection one is being looked for; it starts this anew.
    if (present === undefined) return;
    const unsure = this.#endpoints.unmeasured(performance.now(), MAX_PAUSE_MS).filter(({ url }) => url !== present.url);
    if (unsure.length > 0) {
      const [presentMs, ...found] = await Promise.all([
        roundTrip(present),
        ...unsure.map((other) => this.#probe(other)),
      ]);
      const best = found.filter((probe) => probe !== undefined).sort((a, b) => a.rttMs - b.rttMs)[0];
      const moves =
        best !== undefined &&
        best.rttMs * NEARER_FACTOR + NEARER_BY_MS < presentMs &&
        this.#ports.current() === present &&
        !best.connection.isClosed;
      for (const probe of found) if (!moves || probe !== best) probe?.connection.close();
      if (moves) return this.#ports.adopt(best.connection);
    }
    if (this.#ports.current() === present) this.#schedule();
  }

  /** A healthy endpoint, and how far away it is. */
  async #probe(endpoint: Endpoint): Promise<{ connection: Connection; rttMs: number } | undefined> {
    try {
      const connection = await this.#ports.open(endpoint);
      const rttMs = this.#isHealthy(connection) ? await roundTrip(connection) : Number.POSITIVE_INFINITY;
      if (Number.isFinite(rttMs)) {
        this.#endpoints.measured(endpoint.url, rttMs);
        return { connection, rttMs };
      }
      connection.close();
    } catch (error) {
      this.#settings.logger.debug(`${endpoint.url}: ${toIsochronError(error).message}`);
    }
    return undefined;
  }

  /** It has caught up, and the present node does not say that stable time waits for its region, which may be cut off from the others. */
  #isHealthy({ welcome, region }: Connection): boolean {
    const heldBackBy = this.#ports.current()?.freshness.heldBackBy;
    return lagMs(welcome) <= CAUGHT_UP_MS && heldBackBy?.region !== region;
  }
}

/** How far the node's own stable time is behind the session's, which the welcome gives back. */
const lagMs = ({ ust, stable = ust, freshness: { now, stalenessMs } }: Welcome): number =>
  wallOf(stable) - (now - stalenessMs);

/** The shorter of two measurements; infinite where the connection is lost meanwhile. */
async function roundTrip(connection: Connection): Promise<number> {
  try {
    return Math.min(await connection.ping(), await connection.ping());
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
