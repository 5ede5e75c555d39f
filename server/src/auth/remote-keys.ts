/**
 * The public keys of an issuer behind a URL (JWKS). They are fetched at the first token, every few minutes, and when a
 * token names a key that is not among them; keys that are known stay in use while the URL does not answer. No request
 * waits longer than one fetch may take, and a flood of tokens with invented keys causes one fetch in a while.
 */
import { IsochronError } from '@isochron/core';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';

/** Times of fetching, ms. */
export interface FetchTimes {
  /** Longest time of a fetch, with its body. */
  readonly timeoutMs: number;
  /** Least time after a fetch before an unknown key causes the next fetch. */
  readonly cooldownMs: number;
  /** Least time after a fetch that failed. */
  readonly retryMs: number;
  /** Time after which the set is fetched again, so that removed keys go. */
  readonly refreshMs: number;
  /** How long known keys stay in use while the URL does not answer. */
  readonly keepMs: number;
}

export const DEFAULT_FETCH_TIMES: FetchTimes = {
  timeoutMs: 3_000,
  cooldownMs: 5_000,
  retryMs: 2_000,
  refreshMs: 300_000,
  keepMs: 86_400_000,
};

/** Longest key set, bytes. */
const MAX_SET_BYTES = 256 * 1024;

export interface RemoteKeysOptions {
  readonly issuer: string;
  readonly url: string;
  readonly times: FetchTimes;
  readonly logger: Pick<Logger, 'warn'>;
  /** The set has changed: tokens that were accepted have to be checked again. */
  readonly changed: () => void;
}

export class RemoteKeys {
  #find: JWTVerifyGetKey | undefined;
  #text = '';
  /** The keys of each name, as text. */
  #byName: ReadonlyMap<string, string> = new Map();
  #fetching: Promise<void> | undefined;
  #hasFailed = false;
  /** By the steady clock. */
  #nextFetchMs = 0;
  /** When the URL last gave the set, by the steady clock. */
  #confirmedMs = Number.NEGATIVE_INFINITY;
  readonly #timer: NodeJS.Timeout;

  constructor(readonly options: RemoteKeysOptions) {
    this.#timer = setInterval(() => void this.#fetchOnce(), options.times.refreshMs).unref();
    void this.#fetchOnce();
  }

  /**
   * The key of a token.
   * @throws JWKSNoMatchingKey; IsochronError `NOT_READY` if the set was needed and cannot be fetched
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    try {
      return await this.#known(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (this.#fetching === undefined && performance.now() < this.#nextFetchMs)
        throw this.#hasFailed ? this.#outage() : error;
    }
    await this.#fetchOnce();
    if (this.#hasFailed) throw this.#outage();
    return this.#known(header, token);
  };

  /** Stands for the key of this name now, or for the whole set where tokens name none: it changes with the key. */
  mark(kid: unknown): string | undefined {
    if (this.#isStale) return undefined;
    return typeof kid === 'string' ? this.#byName.get(kid) : this.#text;
  }

  /**
   * A signature is not that of the key of its name, which may have been replaced: fetches the set, at most once in a
   * while. Whether it is another one than that of the mark.
   */
  async hasChanged(mark: string | undefined): Promise<boolean> {
    if (this.mark(undefined) !== mark) return true;
    if (this.#fetching === undefined && performance.now() < this.#nextFetchMs) return false;
    await this.#fetchOnce();
    return this.mark(undefined) !== mark;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #known(...[header, token]: Parameters<JWTVerifyGetKey>): ReturnType<JWTVerifyGetKey> {
    if (this.#find === undefined || this.#isStale) throw new errors.JWKSNoMatchingKey();
    return this.#find(header, token);
  }

  /** The keys were not confirmed for too long: the issuer may have removed them. */
  get #isStale(): boolean {
    return performance.now() - this.#confirmedMs > this.options.times.keepMs;
  }

  /** Fetches, unless that is going on: then the caller waits for the same fetch. Never fails. */
  #fetchOnce(): Promise<void> {
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetch(): Promise<void> {
    const { url, issuer, times, logger } = this.options;
    try {
      this.#take(await textOf(url, times.timeoutMs));
      this.#hasFailed = false;
      this.#confirmedMs = performance.now();
    } catch (err) {
      this.#hasFailed = true;
      logger.warn({ err, issuer }, 'the keys of an issuer cannot be fetched; those that are known stay in use');
    }
    this.#nextFetchMs = performance.now() + (this.#hasFailed ? times.retryMs : times.cooldownMs);
  }

  #take(text: string): void {
    if (text === this.#text) return;
    const set = JSON.parse(text) as JSONWebKeySet;
    const find = createLocalJWKSet(set);
    const isFirst = this.#find === undefined;
    this.#find = find;
    this.#text = text;
    this.#byName = namedIn(set);
    if (!isFirst) this.options.changed();
  }

  #outage(): IsochronError {
    return new IsochronError(
      'NOT_READY',
      'The keys of the issuer cannot be fetched now, so that this token cannot be checked here. Try again.',
    );
  }
}

/** The keys of each name as text: keys of several kinds may share a name. */
function namedIn({ keys }: JSONWebKeySet): Map<string, string> {
  const named = new Map<string, string>();
  for (const key of keys)
    if (key.kid !== undefined) named.set(key.kid, `${named.get(key.kid) ?? ''}${JSON.stringify(key)}`);
  return named;
}

/** The body at a URL. @throws if there is none in time, it is too long, or the status is not 200 */
async function textOf(url: string, timeoutMs: number): Promise<string> {
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = await fetch(url, { signal, redirect: 'error', headers: { accept: 'application/json' } });
  if (answer.status !== 200) {
    await answer.body?.cancel();
    throw new Error(`the status is ${answer.status}`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_SET_BYTES) throw new Error(`the key set is longer than ${MAX_SET_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
