/** Compares a session's outcomes with those of a file. */
import { isDeepStrictEqual } from 'node:util';
import type { Fields, ReadFile, ReadSequence } from './reader.js';

/** The first event of a sequence that differs. */
export interface Difference {
  readonly sequence: string;
  /** Its place among the events, from 0. */
  readonly event: number;
  readonly what: string;
  readonly expected: unknown;
  readonly got: unknown;
}

/** A session that is driven by a file. */
export interface Player {
  /** The outcomes of an event, by their field. */
  play(event: Fields): Readonly<Record<string, unknown>>;
  /** The session as data. */
  state(): unknown;
}

/** Plays all sequences; the first difference of each that differs. */
export function replay(file: ReadFile, playerOf: (sequence: ReadSequence) => Player): Difference[] {
  return file.sequences.flatMap((sequence) => firstDifference(sequence, playerOf(sequence)) ?? []);
}

function firstDifference({ name: sequence, events }: ReadSequence, player: Player): Difference | undefined {
  let { state } = plain({ state: player.state() });
  for (const [index, event] of events.entries()) {
    const got = plain({ ...player.play(event), state: player.state() });
    if (event.has('state')) state = event.raw('state');
    const expected: Record<string, unknown> = { ...expectedOf(event, got), state };
    event.done();
    const what = Object.keys({ ...expected, ...got }).find((key) => !isDeepStrictEqual(expected[key], got[key]));
    if (what !== undefined) return { sequence, event: index, what, expected: expected[what], got: got[what] };
  }
  return undefined;
}

const OUTCOMES = ['refused', 'view', 'read', 'overlay', 'attempt', 'id', 'get', 'rot', 'put'];

/** The outcomes of an event in the file. Of an import, `id` is an argument and not an outcome. */
function expectedOf(event: Fields, got: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const names = OUTCOMES.filter((name) => event.has(name) && (name !== 'id' || 'id' in got));
  return Object.fromEntries(names.map((name) => [name, event.raw(name)]));
}

/** Without absent fields, and with bytes as text. */
function plain(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const text = JSON.stringify(value, (_key, raw) => (raw instanceof Uint8Array ? bytesOut(raw) : raw));
  return JSON.parse(text) as Record<string, unknown>;
}

const bytesOut = (bytes: Uint8Array): object => ({ bytes: Buffer.from(bytes).toString('base64') });
