/**
 * A session over HTTP that has no permission: it opens a transaction, waits until the owner has made an album and every
 * region has it, and then commits an album of its own over that one, in the old snapshot of its transaction (AR8).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '@isochron/core';
import { type Answer, call, type Request } from '../e2e/http.js';
import { ALBUMS, type Connection, headersOf, principalOf } from './access.js';
import { albumKey } from './album-session.js';
import type { AlbumVerdict } from './album-verdict.js';
import type { Gate } from './gate.js';

/** Shared by the strangers of a run. */
export interface StrangerOptions {
  readonly gate: Gate;
  readonly seed: number;
  /** Regions with the URLs of their nodes. */
  readonly endpoints: Readonly<Record<string, readonly string[]>>;
  readonly stranger: Connection;
  readonly owner: Connection;
  readonly verdict: AlbumVerdict;
  /** No attempt begins once this is aborted. */
  readonly signal: AbortSignal;
}

const TIMEOUT_MS = 8_000;
const MAX_PAUSE_MS = 500;
/** How long it waits until every region has the album, ms. */
const STABLE_MS = 5_000;

const albumPath = (name: string): string => `/v1/keyspaces/${ALBUMS}/keys/${encodeURIComponent(albumKey(name))}`;

export class AlbumStranger {
  readonly #random: Random;
  #attempts = 0;

  constructor(
    readonly shared: StrangerOptions,
    readonly number: number,
  ) {
    this.#random = new Random(shared.seed + 60_000 + number);
  }

  /** Runs until `signal` is aborted. Rejects only for errors that are not the product's. */
  async run(): Promise<void> {
    const { signal, gate } = this.shared;
    while (!signal.aborted) {
      await gate.pass(() => this.#attempt());
      await delay(this.#random.below(MAX_PAUSE_MS + 1));
    }
  }

  /** An answer that is missing, or another one than expected, is due to a fault: the attempt ends. */
  async #attempt(): Promise<void> {
    const { endpoints, owner, stranger, verdict } = this.shared;
    const node = this.#random.pick(Object.values(endpoints).flat());
    const name = `contested-${this.number}-${this.#attempts++}`;
    const opened = await this.#call(stranger, node, 'POST', '/v1/transactions');
    if (opened?.status !== 201) return;
    const made = await this.#call(owner, node, 'PUT', albumPath(name), {
      body: { owner: principalOf('owner'), readers: [] },
    });
    if (made?.status !== 200) return;
    const ts = String(made.headers['isochron-commit-timestamp']);
    const headers = { 'isochron-session': String(made.headers['isochron-session']) };
    const stable = await this.#call(owner, node, 'GET', `/v1/stable?ts=${ts}&timeout=${STABLE_MS}`, { headers });
    if (stable?.status !== 200) return;
    const album = { keyspace: ALBUMS, key: albumKey(name), value: { owner: principalOf('stranger'), readers: [] } };
    const commit = { body: { writes: [album] } };
    const committed = await this.#call(stranger, node, 'POST', `${String(opened.headers.location)}/commit`, commit);
    if (committed?.status === 200) verdict.seized(`${name} at ${node}`);
    if (committed?.status === 403) verdict.held++;
  }

  #call(
    by: Connection,
    node: string,
    method: string,
    path: string,
    request: Request = {},
  ): Promise<Answer | undefined> {
    const headers = { ...headersOf(by), ...request.headers };
    return call(node, method, path, { ...request, headers, timeoutMs: TIMEOUT_MS }).catch(() => undefined);
  }
}
