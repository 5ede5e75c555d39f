/**
 * A client without a cache: it carries only tokens, sends several requests at once with one token, and each of
 * them to any node. A read with a token must show what the token's lineage has written. It repeats some writes under
 * their Idempotency-Key at nodes of all regions: beside the first sending, after a lost answer, and after an answer.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '@isochron/core';
import type { HistoryRecorder } from '@isochron/workload';
import { type Answer, call, keyPath } from '../e2e/http.js';
import { type Connection, headersOf } from './access.js';
import type { Gate } from './gate.js';
import { LEDGER_PREFIX } from './ledger.js';
import type { Tally } from './tally.js';

/** Shared by all callers of a run. */
export interface CallersOptions {
  readonly recorder: HistoryRecorder;
  readonly tally: Tally;
  readonly gate: Gate;
  /** Regions with the URLs of their nodes. */
  readonly endpoints: Readonly<Record<string, readonly string[]>>;
  readonly connection: Connection;
  readonly seed: number;
  /** No request begins once this is aborted. */
  readonly signal: AbortSignal;
}

/** A token, and the last writes of its lineage: keys that are written once. */
interface Token {
  readonly text: string;
  readonly written: ReadonlyMap<string, string>;
}

/** What a caller counts, and what must not happen. */
export interface CallersFound {
  reads: number;
  writes: number;
  /** Requests without an answer or refused, by their code. */
  readonly failed: Record<string, number>;
  /** Writes that a later request of the token's lineage did not see. */
  readonly missed: string[];
  /** Repetitions of a write. */
  repeats: number;
  /** Transactions that were answered with several timestamps: one attempt was deferred. */
  readonly moved: string[];
  /** Ids with two outcomes. */
  readonly twice: string[];
}

/** The answer to a write. */
interface Written {
  readonly transaction: string;
  readonly timestamp: number;
}

const REQUEST_TIMEOUT_MS = 8000;
const MAX_PAUSE_MS = 30;
/** Requests in flight together, at most. */
const AT_ONCE = 4;
/** How many of its last tokens a caller uses again, and how many writes of a lineage it reads back. */
const TOKENS = 6;
const RECALLED = 6;
/** Limit of the writes of all callers together: each is a session of the history, which the checker keeps in memory. */
const MAX_WRITES = 5_000;
/** Chance that a request goes to another region. */
const ROAMS = 0.1;
/** Share of the writes with an Idempotency-Key, and their sendings one after the other. */
const REPEATS = 0.3;
const SENDINGS = 4;
const NOTHING_WRITTEN: Token['written'] = new Map();

export class HttpCaller {
  readonly #shared: CallersOptions;
  readonly #name: string;
  readonly #random: Random;
  readonly #repeats: Random;
  readonly #found: CallersFound;
  readonly #region: string;
  #tokens: Token[] = [];
  #requests = 0;

  constructor(shared: CallersOptions, number: number, found: CallersFound) {
    this.#shared = shared;
    this.#name = `h${number}`;
    this.#random = new Random(shared.seed + 10_000 + number);
    this.#repeats = new Random(shared.seed + 20_000 + number);
    this.#found = found;
    const regions = Object.keys(shared.endpoints);
    this.#region = regions[number % regions.length]!;
  }

  /** Runs until `signal` is aborted. Rejects only for errors that are not the product's. */
  async run(): Promise<void> {
    const { signal, gate } = this.#shared;
    while (!signal.aborted) {
      const token = this.#random.chance(0.5) ? this.#tokens.at(-1) : this.#anyToken();
      const count = 1 + this.#random.below(AT_ONCE);
      // A fork: all requests carry the same token.
      await gate.pass(() => Promise.all(Array.from({ length: count }, () => this.#request(token))));
      await delay(this.#random.below(MAX_PAUSE_MS + 1));
    }
  }

  #anyToken(): Token | undefined {
    return this.#tokens.length === 0 ? undefined : this.#random.pick(this.#tokens);
  }

  #request(token: Token | undefined): Promise<void> {
    const { endpoints } = this.#shared;
    const region = this.#random.chance(ROAMS) ? this.#random.pick(Object.keys(endpoints)) : this.#region;
    const node = this.#random.pick(endpoints[region]!);
    const known = [...(token?.written ?? NOTHING_WRITTEN)];
    return known.length > 0 && (this.#found.writes >= MAX_WRITES || this.#random.chance(0.5))
      ? this.#read(node, token, this.#random.pick(known))
      : this.#write(node, token);
  }

  async #read(node: string, token: Token | undefined, [key, value]: [string, string]): Promise<void> {
    const answer = await this.#call(node, 'GET', key, token);
    if (answer === undefined) return;
    this.#found.reads++;
    if (answer.json === value) return this.#keep(answer, token?.written ?? NOTHING_WRITTEN);
    this.#found.missed.push(`${this.#name} reads ${key} at ${node}: ${answer.status} ${answer.text}, not ${value}`);
  }

  async #write(node: string, token: Token | undefined): Promise<void> {
    const { tally, recorder } = this.#shared;
    const name = `${this.#name}/${this.#requests++}`;
    const [key, value] = [`${LEDGER_PREFIX}${name}`, `${name}:0`];
    const open = recorder.session(name).begin();
    open.write(key, value);
    const answer = this.#repeats.chance(REPEATS)
      ? await this.#repeated(node, key, token, value)
      : await this.#call(node, 'PUT', key, token, value);
    const status = answer?.status === 200 ? 'committed' : 'unknown';
    open[status]();
    tally.outcomes[status]++;
    tally.ledger.push({ name: key, writes: new Map([[key, value]]), status });
    if (answer === undefined) return;
    this.#found.writes++;
    tally.committed(Number(answer.headers['isochron-commit-timestamp']));
    const written = [...(token?.written ?? NOTHING_WRITTEN), [key, value] as const];
    this.#keep(answer, new Map(written.slice(-RECALLED)));
  }

  /** The first answer to a write that is sent several times under one key, some of them at once. */
  async #repeated(node: string, key: string, token: Token | undefined, value: string): Promise<Answer | undefined> {
    const random = this.#repeats;
    const { endpoints } = this.#shared;
    const regions = Object.keys(endpoints);
    const id = random.chance(0.5) ? `${random.pick(regions)}:${key}` : key;
    const send = (to: string) => this.#call(to, 'PUT', key, token, value, id);
    const elsewhere = () => send(random.pick(endpoints[random.pick(regions)]!));
    const answers: (Answer | undefined)[] = [];
    for (let sending = 0; sending < SENDINGS; sending++) {
      const next = sending === 0 ? [send(node)] : [elsewhere()];
      if (random.chance(0.5)) next.push(delay(random.below(MAX_PAUSE_MS)).then(elsewhere));
      answers.push(...(await Promise.all(next)));
      this.#found.repeats += next.length;
    }
    const outcomes = answers.flatMap((answer) => (answer === undefined ? [] : [answer.json as Written]));
    const [first] = outcomes;
    if (outcomes.some(({ transaction }) => transaction !== first!.transaction))
      this.#found.twice.push(`${this.#name} writes ${key}: ${JSON.stringify(outcomes)}`);
    const timestamps = new Set(outcomes.map(({ timestamp }) => timestamp));
    if (timestamps.size > 1) this.#found.moved.push(first!.transaction);
    return answers.find((answer) => answer !== undefined);
  }

  #keep({ headers }: Answer, written: Token['written']): void {
    this.#tokens = [...this.#tokens, { text: String(headers['isochron-session']), written }].slice(-TOKENS);
  }

  /** The answer, if the node gives one: 200 or 404. Other statuses may be due to a fault. */
  async #call(node: string, method: string, key: string, token: Token | undefined, body?: string, id?: string) {
    const headers = {
      ...headersOf(this.#shared.connection),
      ...(token === undefined ? {} : { 'isochron-session': token.text }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(id === undefined ? {} : { 'idempotency-key': id }),
    };
    const request = {
      headers,
      timeoutMs: REQUEST_TIMEOUT_MS,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    const answer = await call(node, method, keyPath(key), request).catch(() => undefined);
    if (answer?.status === 200 || (answer?.status === 404 && answer.headers['isochron-session'] !== undefined))
      return answer;
    const { code = String(answer?.status ?? 'no answer') } = (answer?.json ?? {}) as { code?: string };
    this.#found.failed[code] = (this.#found.failed[code] ?? 0) + 1;
    // A node was suspended just after the last write of the lineage: others begin without the token.
    if (code === 'SESSION_DEFERRED') this.#tokens = this.#tokens.filter((kept) => kept !== token);
    return undefined;
  }
}
