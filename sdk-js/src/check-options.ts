/** The names and the values of options, checked before a call sends anything. */
import { IsochronError } from '@isochron/core/errors';
import { isTimestamp } from '@isochron/core/hlc';
import { isWellFormed } from '@isochron/core/limits';

/** What the value of an option has to be, and whether it is. */
type OptionKind = readonly [what: string, fits: (value: unknown) => boolean];

const between = (least: number, most: number, isWhole = true): OptionKind => [
  `${isWhole ? 'whole ' : ''}number of ${least} to ${most}`,
  (value) => typeof value === 'number' && value >= least && value <= most && (!isWhole || Number.isInteger(value)),
];
const text: OptionKind = ['text of well-formed Unicode', (value) => typeof value === 'string' && isWellFormed(value)];
const duration = between(0, Number.POSITIVE_INFINITY, false);

/** The kinds of options whose names mean the same in every call. Other names that end in `Ms` are durations. */
const KINDS: Readonly<Record<string, OptionKind>> = {
  signal: ['AbortSignal', (value) => typeof (value as Partial<AbortSignal> | null)?.addEventListener === 'function'],
  at: ['timestamp', isTimestamp],
  sentAfter: ['timestamp', isTimestamp],
  // Nodes wait no longer.
  timeoutMs: between(0, 60_000, false),
  limit: between(0, Number.MAX_SAFE_INTEGER),
  pageSize: between(1, 1000),
};
for (const name of ['id', 'prefix', 'start', 'keyspace', 'since']) (KINDS as Record<string, OptionKind>)[name] = text;

/** Refuses other options. Throws INVALID_REQUEST. */
export function checkNames<T extends object>(options: T | undefined, ...names: (keyof T)[]): void {
  for (const name of Object.keys(options ?? {}))
    if (!names.includes(name as keyof T)) throw new IsochronError('INVALID_REQUEST', `there is no option ${name}`);
}

/** Refuses other options, and values that an option cannot have. Throws INVALID_REQUEST. */
export function checkOptions<T extends object>(options: T | undefined, ...names: (keyof T)[]): void {
  checkNames(options, ...names);
  for (const [name, value] of Object.entries(options ?? {})) {
    const [what, fits] = KINDS[name] ?? (name.endsWith('Ms') ? duration : []);
    if (value !== undefined && fits?.(value) === false)
      throw new IsochronError('INVALID_REQUEST', `the option ${name} has to be a ${what}`);
  }
}
