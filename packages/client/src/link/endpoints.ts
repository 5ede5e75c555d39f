/** The nodes that the client was given and those it learned, in the order in which to try them. */
import { IsochronError } from '@isochron/core/errors';

export interface Endpoint {
  readonly url: string;
  /**
   * Whether the application named it. Learned endpoints are for failover only; the client never moves there by itself.
   */
  readonly given: boolean;
  region: string | undefined;
  /** Measured round trip, and the monotonic time of the measurement. */
  rttMs: number | undefined;
  measuredMs: number;
  /** Number of failures since it last worked, and the latest of them. */
  failures: number;
  failure: IsochronError | undefined;
  /** Not to be tried before this monotonic time. */
  notBeforeMs: number;
}

/** At most so many endpoints are named in an error's text. */
const NAMED_FAILURES = 8;
/**
 * Learned endpoints that are tried in a row. Behind a load balancer they may all be addresses that the client does not
 * reach, and each of them takes its time.
 */
const LEARNED_IN_A_ROW = 8;
/** Further than any measured endpoint. */
const UNKNOWN_DISTANCE_MS = 1e7;
const SESSION_PATH = '/v1/session';
/**
 * Scheme, host with port, and path of a base URL. The class `URL` is not used: in React Native it throws for the host,
 * and web views before 2023 have no `URL.canParse`.
 */
const BASE_URL = /^(?:http|ws)(s?):\/\/([^\s/?#@:\\[\]]+|\[[a-f\d:.]+])(:\d{1,5})?(\/[^\s?#]*)?(?:[?#]\S*)?$/i;

/** The WebSocket address of a node's base URL. Throws INVALID_REQUEST. */
export function sessionUrl(base: string): string {
  const url = addressOf(base);
  if (url !== undefined) return url;
  const why = 'is no http(s) or ws(s) URL without a user';
  throw new IsochronError('INVALID_REQUEST', `${JSON.stringify(base)} ${why}`);
}

/** The WebSocket address of a base URL; undefined for anything else. */
function addressOf(base: string): string | undefined {
  const [, secure, host, port = '', path = ''] = BASE_URL.exec(base) ?? [];
  if (secure === undefined || host === undefined || Number(port.slice(1)) > 65_535) return undefined;
  const named = port === (secure === '' ? ':80' : ':443') ? '' : port;
  const stem = path.replace(/\/+$/, '');
  return `ws${secure.toLowerCase()}://${host.toLowerCase()}${named}${stem.endsWith(SESSION_PATH) ? stem : stem + SESSION_PATH}`;
}

export class Endpoints {
  readonly #all = new Map<string, Endpoint>();
  /** Region of the last connection: its other nodes come first among those without a known distance. */
  region: string | undefined;

  constructor(bases: readonly string[]) {
    for (const base of bases) this.#add(sessionUrl(base), undefined, true);
    if (this.#all.size === 0) throw new IsochronError('INVALID_REQUEST', 'connect needs at least one endpoint');
  }

  get all(): readonly Endpoint[] {
    return [...this.#all.values()];
  }

  get size(): number {
    return this.#all.size;
  }

  get(url: string): Endpoint | undefined {
    return this.#all.get(url);
  }

  /** Adds the endpoints of a welcome. Over an encrypted connection no unencrypted endpoint is learned. */
  learn(from: string, regions: readonly { readonly id: string; readonly endpoints: readonly string[] }[]): void {
    const encrypted = from.startsWith('wss:');
    for (const { id, endpoints } of regions) {
      for (const base of endpoints) {
        const url = addressOf(base);
        if (url !== undefined && (!encrypted || url.startsWith('wss:'))) this.#add(url, id, false);
      }
    }
  }

  /** Stores a measurement. */
  measured(url: string, rttMs: number, nowMs: number): void {
    const endpoint = this.#all.get(url);
    if (endpoint === undefined) return;
    endpoint.rttMs = rttMs;
    endpoint.measuredMs = nowMs;
    this.worked(url);
  }

  /** The endpoint has a connection that can be used. */
  worked(url: string): void {
    const endpoint = this.#all.get(url);
    if (endpoint !== undefined) [endpoint.failures, endpoint.failure] = [0, undefined];
  }

  /** A connection to the endpoint could not be opened, or was lost. */
  failed(url: string, failure: IsochronError): void {
    const endpoint = this.#all.get(url);
    if (endpoint === undefined) return;
    endpoint.failures++;
    endpoint.failure = failure;
  }

  /** An error whose text has the latest failure of each endpoint, and whose `cause` has these failures as `errors`. */
  unreached(code: 'CONNECTION_LOST' | 'OFFLINE', what: string): IsochronError {
    const failures = this.all.flatMap(({ failure }) => failure ?? []);
    const reasons = failures.map(({ message }) => message).slice(0, NAMED_FAILURES);
    // Not an AggregateError, which some platforms of apps lack.
    const cause = failures.length > 1 ? Object.assign(new Error(what), { errors: failures }) : failures[0];
    return new IsochronError(code, [what, ...reasons].join('; '), { cause });
  }

  /** Endpoints that may be tried now: the last one to fail comes last, then by distance. */
  candidates(nowMs: number): Endpoint[] {
    return this.all.filter((endpoint) => endpoint.notBeforeMs <= nowMs).sort((a, b) => this.#compare(a, b));
  }

  /** The candidates of a round of attempts; given ones come again among many learned ones. */
  *round(clock: { readonly nowMs: number }): Generator<Endpoint> {
    let learned = 0;
    for (const endpoint of this.candidates(clock.nowMs)) {
      yield endpoint;
      learned = endpoint.given ? 0 : learned + 1;
      const given = learned === LEARNED_IN_A_ROW && this.candidates(clock.nowMs).find((other) => other.given);
      if (!given) continue;
      yield given;
      learned = 0;
    }
  }

  /** The given endpoints whose distance is not known: never measured, failed since, or measured long ago. */
  unmeasured(nowMs: number, maxAgeMs: number): Endpoint[] {
    return this.candidates(nowMs).filter(
      ({ given, rttMs, failures, measuredMs }) =>
        given && (rttMs === undefined || failures > 0 || measuredMs + maxAgeMs <= nowMs),
    );
  }

  /** When the next one may be tried. */
  nextMs(): number {
    return Math.min(...this.all.map((endpoint) => endpoint.notBeforeMs));
  }

  #compare(a: Endpoint, b: Endpoint): number {
    return a.failures - b.failures || this.#distance(a) - this.#distance(b);
  }

  /**
   * An endpoint without a measurement lies as far away as its region; in a region without one, behind all others. Never
   * infinite.
   */
  #distance({ rttMs, region }: Endpoint): number {
    if (rttMs !== undefined) return rttMs;
    if (region === undefined) return UNKNOWN_DISTANCE_MS;
    const neighbours = this.all.filter((other) => other.region === region && other.rttMs !== undefined);
    const own = region === this.region ? UNKNOWN_DISTANCE_MS / 2 : UNKNOWN_DISTANCE_MS;
    return Math.min(own, ...neighbours.map((other) => other.rttMs!));
  }

  #add(url: string, region: string | undefined, given: boolean): void {
    const known = this.#all.get(url);
    if (known !== undefined) known.region ??= region;
    else
      this.#all.set(url, {
        url,
        given,
        region,
        rttMs: undefined,
        measuredMs: 0,
        failures: 0,
        failure: undefined,
        notBeforeMs: 0,
      });
  }
}
