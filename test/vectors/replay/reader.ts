/**
 * Reads the files by `README.md` alone, without the types of their generator. Throws on every deviation from that page.
 */

import { Update } from '@isochron/core/updates/update';

/** Fields in their raw form. */
export class Fields {
  readonly #raw: Readonly<Record<string, unknown>>;
  readonly #where: string;
  readonly #used = new Set<string>();

  constructor(raw: unknown, where: string) {
    if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) throw new TypeError(`${where}: no object`);
    this.#raw = raw as Readonly<Record<string, unknown>>;
    this.#where = where;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#raw, name);
  }

  text(name: string): string {
    return this.#typed(name, 'a text', (raw): raw is string => typeof raw === 'string');
  }

  count(name: string): number {
    return this.#typed(name, 'a count', isCount);
  }

  flag(name: string): boolean {
    return this.#typed(name, 'yes or no', (raw): raw is boolean => typeof raw === 'boolean');
  }

  counts(name: string): number[] {
    return this.#typed(name, 'counts', (raw): raw is number[] => Array.isArray(raw) && raw.every(isCount));
  }

  texts(name: string): string[] {
    const areTexts = (raw: unknown): raw is string[] =>
      Array.isArray(raw) && raw.every((item) => typeof item === 'string');
    return this.#typed(name, 'texts', areTexts);
  }

  fields(name: string): Fields {
    return new Fields(this.#value(name), `${this.#where}.${name}`);
  }

  list(name: string): Fields[] {
    const raw = this.#value(name);
    if (!Array.isArray(raw)) throw new TypeError(`${this.#where}.${name}: no list`);
    return raw.map((item, i) => new Fields(item, `${this.#where}.${name}[${i}]`));
  }

  /** JSON text, bytes, or null. */
  value(name: string): string | Uint8Array | null {
    const raw = this.#value(name);
    if (raw === null || typeof raw === 'string') return raw;
    return Uint8Array.from(Buffer.from(this.fields(name).text('bytes'), 'base64'));
  }

  /** The same, or an update. */
  content(name: string): string | Uint8Array | Update | null {
    const raw = this.#value(name);
    const isUpdate = typeof raw === 'object' && raw !== null && 'operations' in raw;
    return isUpdate ? new Update(this.fields(name).text('operations')) : this.value(name);
  }

  /** The same, or undefined where the field is absent. */
  maybe<T>(name: string, read: (name: string) => T): T | undefined {
    return this.has(name) ? read.call(this, name) : undefined;
  }

  /** The raw value, for comparison. */
  raw(name: string): unknown {
    return this.#value(name);
  }

  /** Throws if a field has not been read. */
  done(): void {
    const unread = Object.keys(this.#raw).filter((name) => !this.#used.has(name));
    if (unread.length > 0) throw new TypeError(`${this.#where}: ${unread.join(', ')} means nothing`);
  }

  #typed<T>(name: string, what: string, is: (raw: unknown) => raw is T): T {
    const raw = this.#value(name);
    if (is(raw)) return raw;
    throw new TypeError(`${this.#where}.${name}: ${JSON.stringify(raw)} is not ${what}`);
  }

  #value(name: string): unknown {
    this.#used.add(name);
    if (this.has(name)) return this.#raw[name];
    throw new TypeError(`${this.#where}: there is no ${name}`);
  }
}

const isCount = (raw: unknown): raw is number => Number.isSafeInteger(raw) && (raw as number) >= 0;

/** One session. */
export interface ReadSequence {
  readonly name: string;
  readonly id: string;
  readonly region: string | undefined;
  readonly events: readonly Fields[];
}

/** A file of sessions. */
export interface ReadFile {
  readonly protocol: string;
  readonly kind: string;
  readonly sequences: readonly ReadSequence[];
}

export function readSessions(name: string, text: string): ReadFile {
  const file = new Fields(JSON.parse(text), name);
  if (file.count('format') !== 1) throw new TypeError(`${name}: another format`);
  const [protocol, kind] = [file.text('protocol'), file.text('kind')];
  const sequences = file.list('sequences').map(readSequence);
  file.done();
  return { protocol, kind, sequences };
}

function readSequence(fields: Fields): ReadSequence {
  const sequence = {
    name: fields.text('name'),
    id: fields.text('id'),
    region: fields.maybe('region', fields.text),
    events: fields.list('events'),
  };
  fields.done();
  return sequence;
}
