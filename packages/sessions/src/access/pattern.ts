/** Patterns of access rules: keyspace and key in segments, with captures. */
import type { QualifiedKey } from '@isochron/core';

/** The parts of a key that a pattern has captured, by their names. */
export type Captures = Readonly<Record<string, string>>;

/** A segment: a text, `{name}` for any one, or `{name=**}` for all that follow. */
type Segment =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'one'; readonly name: string }
  | { readonly kind: 'rest'; readonly name: string };

const CAPTURE = /^\{([a-z][A-Za-z0-9_]{0,31})(=\*\*)?\}$/;
const MAX_SEGMENTS = 32;

export class Pattern {
  readonly #segments: readonly Segment[];

  /** @throws Error with the reason, for a text that is no pattern */
  constructor(readonly text: string) {
    this.#segments = segmentsOf(text);
  }

  /** Names of its captures. */
  get captures(): readonly string[] {
    return this.#segments.flatMap((segment) => (segment.kind === 'text' ? [] : [segment.name]));
  }

  get keyspace(): string {
    const [first] = this.#segments;
    return first?.kind === 'text' ? first.text : '';
  }

  /**
   * What it captures of a key; undefined where it does not match. Hot.
   * @param parts the segments of the key, for callers that match it with several patterns
   */
  match(key: QualifiedKey, parts: readonly string[] = key.split('/')): Captures | undefined {
    const captures: Record<string, string> = {};
    for (const [i, segment] of this.#segments.entries()) {
      if (i >= parts.length) return undefined;
      if (segment.kind === 'rest') {
        captures[segment.name] = parts.slice(i).join('/');
        return captures;
      }
      if (segment.kind === 'one') captures[segment.name] = parts[i]!;
      else if (segment.text !== parts[i]) return undefined;
    }
    return parts.length === this.#segments.length ? captures : undefined;
  }

  /** Whether it matches keys of a level (`levelOf`); where that is absent, of any. */
  #hasLevel(level: number | undefined): boolean {
    const { length } = this.#segments;
    if (level === undefined) return true;
    return this.#segments.at(-1)!.kind === 'rest' ? length <= level + 1 : length === level + 1;
  }

  /**
   * Whether it may match a key of a range.
   * @param prefix the beginning of all keys of the range, qualified
   * @param level of all keys of the range
   */
  mayMatch(prefix: string, level?: number): boolean {
    if (!this.#hasLevel(level)) return false;
    const parts = prefix.split('/');
    const open = parts.length - 1;
    return parts.every((part, i) => {
      const segment = this.#segments[Math.min(i, this.#segments.length - 1)]!;
      if (segment.kind === 'rest') return true;
      if (i >= this.#segments.length) return false;
      return segment.kind === 'one' || (i < open ? segment.text === part : segment.text.startsWith(part));
    });
  }

  /**
   * What it captures of every key that it matches in a range: of the segments that all keys with this beginning have.
   * Undefined where it matches none of them, or where a text comes after these segments: it would match some keys and
   * not others by more than their last captures.
   * @param prefix the beginning of all keys of the range, qualified
   * @param level of all keys of the range
   */
  cover(prefix: string, level?: number): Captures | undefined {
    if (!this.#hasLevel(level)) return undefined;
    const parts = prefix.split('/');
    // The last part is open: keys go on there.
    parts.pop();
    const captures: Record<string, string> = {};
    for (const [i, segment] of this.#segments.entries()) {
      if (i < parts.length) {
        if (segment.kind === 'rest') return captures;
        if (segment.kind === 'one') captures[segment.name] = parts[i]!;
        else if (segment.text !== parts[i]) return undefined;
      } else if (segment.kind === 'text') return undefined;
    }
    return parts.length < this.#segments.length ? captures : undefined;
  }
}

function segmentsOf(text: string): Segment[] {
  const parts = text.split('/');
  if (parts.length < 2 || parts.length > MAX_SEGMENTS)
    throw new Error(`a pattern has a keyspace and at least one segment of a key, and at most ${MAX_SEGMENTS}`);
  const segments = parts.map(segmentOf);
  if (segments[0]!.kind !== 'text') throw new Error('a pattern begins with the name of a keyspace');
  const names = segments.flatMap((segment) => (segment.kind === 'text' ? [] : [segment.name]));
  if (new Set(names).size < names.length) throw new Error('a pattern names each capture once');
  if (segments.slice(0, -1).some(({ kind }) => kind === 'rest'))
    throw new Error('{name=**} has to be the last segment of a pattern');
  return segments;
}

function segmentOf(part: string): Segment {
  const [, name, rest] = CAPTURE.exec(part) ?? [];
  if (name !== undefined) return { kind: rest === undefined ? 'one' : 'rest', name };
  if (part === '' || /[{}*]/.test(part))
    throw new Error(`${JSON.stringify(part)} is neither a text, nor {name}, nor {name=**}`);
  return { kind: 'text', text: part };
}
