/** Compares what a session did with what a file says. */
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

/** A session that is told what a file says. */
export interface Player {
  /** What comes of an event, by the name of the field that says so. */
  play(event: Fields): Readonly<Record<string, unknown>>;
  /** The session as data. */
  state(): unknown;
}

/** Plays all sequences; for each that differs, where. */
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

/** What the file says of all that can come of an event. `id` is told to an import. */
function expectedOf(event: Fields, got: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const names = OUTCOMES.filter((name) => event.has(name) && (name !== 'id' || 'id' in got));
  return Object.fromEntries(names.map((name) => [name, event.raw(name)]));
}

/** Without what is absent, and with bytes as text. */
function plain(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const text = JSON.stringify(value, (_key, raw) => (raw instanceof Uint8Array ? bytesOut(raw) : raw));
  return JSON.parse(text) as Record<string, unknown>;
}

const bytesOut = (bytes: Uint8Array): object => ({ bytes: Buffer.from(bytes).toString('base64') });
