import type { QualifiedKey, Timestamp } from '@isochron/core';
import type { Check, CheckContext } from '../check.js';
import type { Ledger } from '../evidence/ledger.js';

/** A note: the one who may see it. */
export interface Note {
  readonly by: string;
}

/** The parts of requests and answers that the check reads. */
interface SessionFrame {
  readonly type: string;
  readonly id?: number;
  readonly after?: Timestamp;
  readonly add?: readonly { readonly watch: number; readonly start?: string }[];
  readonly remove?: readonly number[];
  readonly to?: Timestamp;
  readonly changes?: readonly (readonly [QualifiedKey, readonly (readonly [Timestamp, string, unknown])[]])[];
  readonly ended?: readonly (readonly [number, string, string])[];
  readonly snapshot?: Timestamp;
  readonly scope?: string;
}

/**
 * No message to a session names a note that its principal may not see, but those that its request has named (AR10,
 * LQ7): a list and its places name what is visible in its snapshot, an answer to live queries what is visible at its
 * end, and what it takes away was visible at its beginning or within it. What a rule filters has no change feed, and
 * ranges that a rule filters by other documents have no live queries (AR5).
 */
export class HiddenKeys implements Check {
  readonly name = 'hidden-keys';
  /** Notes that lists and live queries have shown, notes that were taken away, and refusals. */
  readonly counters = { listed: 0, changed: 0, removed: 0, refused: 0 };
  /** Requests without an answer, by connection and number. */
  readonly #asked = new Map<string, SessionFrame>();
  /**
   * Live queries that have ended, by connection and number: the node has refused a query, also with the answer to the
   * request before, or the client has removed the query before the answer came.
   */
  readonly #ended = new Set<string>();
  #lostData = false;

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
    readonly hasNotes: boolean,
  ) {}

  ruledAsked(_principal: string, connection: string, text: string): void {
    if (!this.hasNotes) return;
    for (const frame of framesIn(text)) {
      this.#asked.set(`${connection} ${frame.id}`, frame);
      for (const number of frame.remove ?? []) this.#ended.add(`${connection} ${number}`);
    }
  }

  ruledAnswered(principal: string, connection: string, text: string): void {
    if (!this.hasNotes || this.#lostData) return;
    for (const frame of framesIn(text)) {
      const request = this.#asked.get(`${connection} ${frame.id}`);
      this.#asked.delete(`${connection} ${frame.id}`);
      this.#answered(connection, principal, request, frame);
    }
  }

  onDataLoss(): void {
    this.#lostData = true;
  }

  #answered(connection: string, principal: string, request: SessionFrame | undefined, answer: SessionFrame): void {
    const asked = new Set(notesIn(request));
    if (answer.type === 'changes' && request?.scope?.includes('/notes/'))
      this.#fail(`${connection} gets a page of the changes of what a rule filters`, connection);
    if (answer.type === 'error') this.counters.refused++;
    if (answer.type === 'live' && request !== undefined) this.#live(connection, principal, request, answer);
    const { snapshot = 0 } = answer.type === 'listed' ? answer : {};
    for (const note of answer.type === 'live' ? [] : notesIn(answer)) {
      if (asked.has(note)) continue;
      this.counters.listed++;
      if (!this.#sees(principal, note, snapshot))
        this.#fail(`${connection} gets ${note}, which is hidden at ${snapshot}`, connection, note);
    }
  }

  #live(connection: string, principal: string, { after = 0, add = [] }: SessionFrame, answer: SessionFrame): void {
    const { to = 0, changes = [], ended = [] } = answer;
    for (const [number] of ended) this.#ended.add(`${connection} ${number}`);
    for (const { watch, start } of add)
      if (start?.includes('/remarks/') && !this.#ended.has(`${connection} ${watch}`))
        this.#fail(`${connection} watches what a rule filters by other documents`, connection);
    for (const [key, contents] of changes) {
      const note = NOTE.exec(key)?.[0];
      if (note === undefined) continue;
      const isRemoval = contents.at(-1)?.[2] === null;
      this.counters[isRemoval ? 'removed' : 'changed']++;
      if (isRemoval ? !this.#saw(principal, key, after, to) : !this.#sees(principal, note, to))
        this.#fail(
          `${connection} gets ${JSON.stringify(contents)} of ${key} from ${after} to ${to}, which is hidden`,
          connection,
          key,
        );
    }
  }

  /** Whether a note is visible in a snapshot, in any keyspace. */
  #sees(principal: string, note: string, at: Timestamp): boolean {
    const keys = [...this.ledger.keys].filter((key) => key.endsWith(`/${note}`));
    return keys.some((key) => isOf(principal, this.ledger.visible(key, ({ ts }) => ts <= at)?.value));
  }

  /** Whether a note is visible in any snapshot from `after` to `to`. */
  #saw(principal: string, key: QualifiedKey, after: Timestamp, to: Timestamp): boolean {
    const within = this.ledger.chain(key).filter(({ ts }) => ts > after && ts <= to);
    const before = this.ledger.visible(key, ({ ts }) => ts <= after);
    return [before, ...within].some((version) => isOf(principal, version?.value));
  }

  #fail(message: string, ...about: string[]): void {
    this.context.fail(this.name, message, about);
  }
}

const NOTE = /notes\/[\w-]+/;

const framesIn = (text: string): readonly SessionFrame[] => [JSON.parse(text) as SessionFrame | SessionFrame[]].flat();

const notesIn = (frame: SessionFrame | undefined): readonly string[] =>
  JSON.stringify(frame ?? {}).match(new RegExp(NOTE, 'g')) ?? [];

const isOf = (principal: string, value: unknown): boolean =>
  typeof value === 'string' && (JSON.parse(value) as Note).by === principal;
