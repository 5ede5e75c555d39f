import { TextDecoder } from 'node:util';

/**
 * The history file: JSON lines, one per transaction, lines of a session in session order; optionally lines with the
 * final state of a replica. The input is untrusted: an invalid line is refused with its number.
 */

/**
 * One operation as the client saw it, in the order of the calls. `v` is the value; `null` is *no version* for a read
 * and a delete for a write.
 */
export interface Op {
  readonly f: 'r' | 'w';
  readonly k: string;
  readonly v: string | null;
}

/** The outcome of a transaction for its client. */
export type Status = 'committed' | 'aborted' | 'unknown';

/** One line of a history. */
export interface Transaction {
  readonly session: string;
  /** Position in the session; ascending, gaps allowed. */
  readonly seq: number;
  readonly tx: string;
  readonly status: Status;
  readonly ops: readonly Op[];
}

/** A replica's final value of one key; `null` is no version, or a delete. */
export interface FinalValue {
  readonly k: string;
  readonly v: string | null;
}

/**
 * A line with the content of a replica after all transactions have ended and reached every replica. It names every key
 * that the replica should hold; those it does not name it does not host. One replica may have several lines.
 */
export interface ReplicaState {
  readonly replica: string;
  readonly final: readonly FinalValue[];
}

/** Any line of a history. */
export type HistoryRecord = Transaction | ReplicaState;

/** Distinguishes the two kinds of lines. */
export const isReplicaState = (record: HistoryRecord): record is ReplicaState => 'final' in record;

/** The input is not a history. `line` counts from 1. */
export class HistoryError extends Error {
  override readonly name = 'HistoryError';

  constructor(
    readonly line: number,
    problem: string,
  ) {
    super(`line ${line}: ${problem}`);
  }
}

/** Characters of one line at most: a file without newlines is refused before it fills the memory. */
export const MAX_LINE_LENGTH = 64 * 1024 * 1024;

/** Shows a string from the input in a message: quoted, escaped, and cut when long. */
export function quote(text: string): string {
  const quoted = JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);
  // JSON leaves these characters unescaped, and a terminal may interpret them.
  return quoted.replace(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * Validates one line.
 * @throws HistoryError
 */
export function parseLine(text: string, line: number): HistoryRecord {
  const raw = parseJson(text, line);
  if (!isRecord(raw)) throw new HistoryError(line, 'expected a JSON object');
  return Object.hasOwn(raw, 'final') ? parseState(raw, line) : parseTransaction(raw, line);
}

function parseState({ replica, final }: Record<string, unknown>, line: number): ReplicaState {
  if (!isName(replica)) throw new HistoryError(line, '"replica" must be a non-empty string');
  if (!Array.isArray(final)) throw new HistoryError(line, '"final" must be an array');
  return { replica, final: final.map((value: unknown, i) => parseAssignment(value, `final[${i}]`, line)) };
}

function parseTransaction(raw: Record<string, unknown>, line: number): Transaction {
  const { session, seq, tx, status, ops } = raw;
  if (!isName(session)) throw new HistoryError(line, '"session" must be a non-empty string');
  if (!isSeq(seq)) throw new HistoryError(line, '"seq" must be an integer of at least 0');
  if (!isName(tx)) throw new HistoryError(line, '"tx" must be a non-empty string');
  if (!isStatus(status)) throw new HistoryError(line, '"status" must be "committed", "aborted" or "unknown"');
  if (!Array.isArray(ops)) throw new HistoryError(line, '"ops" must be an array');
  return { session, seq, tx, status, ops: ops.map((op: unknown, i) => parseOp(op, i, line)) };
}

function parseOp(raw: unknown, index: number, line: number): Op {
  const { k, v } = parseAssignment(raw, `ops[${index}]`, line);
  const { f } = raw as { f?: unknown };
  if (f !== 'r' && f !== 'w') throw new HistoryError(line, `"ops[${index}].f" must be "r" or "w"`);
  return { f, k, v };
}

function parseAssignment(raw: unknown, where: string, line: number): FinalValue {
  if (!isRecord(raw)) throw new HistoryError(line, `"${where}" must be an object`);
  const { k, v } = raw;
  if (!isName(k)) throw new HistoryError(line, `"${where}.k" must be a non-empty string`);
  if (v !== null && typeof v !== 'string') throw new HistoryError(line, `"${where}.v" must be a string or null`);
  return { k, v };
}

function parseJson(text: string, line: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The parser's message quotes the input with its control characters, so it goes to `cause` only.
    throw Object.assign(new HistoryError(line, 'not JSON'), { cause });
  }
}

const isRecord = (raw: unknown): raw is Record<string, unknown> =>
  typeof raw === 'object' && raw !== null && !Array.isArray(raw);
const isName = (raw: unknown): raw is string => typeof raw === 'string' && raw !== '';
const isSeq = (raw: unknown): raw is number => Number.isSafeInteger(raw) && (raw as number) >= 0;
const isStatus = (raw: unknown): raw is Status => raw === 'committed' || raw === 'aborted' || raw === 'unknown';

/**
 * Parses a whole history at once.
 * @throws HistoryError
 */
export function parseHistory(text: string): HistoryRecord[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line, i) => parseLine(line, i + 1));
}

/**
 * Parses a history while it arrives.
 * @throws HistoryError, also for bytes that are not UTF-8; and the errors of `chunks`
 */
export async function* readHistory(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<HistoryRecord> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 0;
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + decode(decoder, chunk, line + 1)).split('\n');
    rest = lines.pop()!;
    if (rest.length > MAX_LINE_LENGTH) throw new HistoryError(line + lines.length + 1, 'the line is too long');
    for (const text of lines) yield parseLine(text, ++line);
  }
  rest += decode(decoder, undefined, line + 1);
  if (rest !== '') yield parseLine(rest, ++line);
}

function decode(decoder: TextDecoder, chunk: Uint8Array | undefined, line: number): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch (cause) {
    throw Object.assign(new HistoryError(line, 'not UTF-8 (here or shortly after)'), { cause });
  }
}
