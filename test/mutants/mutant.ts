/** Deliberate breakages, as data. */
import type { SessionStoreLimits } from '@isochron/sessions';
import type { FaultName } from '@isochron/sim/faults/table';
import { placesOf } from './anchor.js';

/**
 * One place of the source that is replaced: a statement, or a part of one, that occurs exactly once in a named part of a
 * file. How it is laid out, and what stands around it, makes no difference.
 */
export interface Patch {
  /** Path of a TypeScript file of a package, from the repository's root. */
  readonly file: string;
  /** The function, the constant or the member (`Cohort.#abort`) that has the place. */
  readonly in: string;
  readonly find: string;
  readonly replace: string;
}

/** What of the drawn plans is replaced, so that runs have occasion to show a breakage. */
export interface Profile {
  /** So many bursts of writes at the beginning of each session. */
  readonly bursts?: number;
  readonly settings?: Readonly<Record<string, number>>;
  readonly environment?: Readonly<Record<string, unknown>>;
  /** Every run has callers over HTTP, and nodes keep at most this much for them. */
  readonly http?: Partial<SessionStoreLimits>;
  /** Sessions go on elsewhere over and over, with their token alone. */
  readonly carriesTokens?: boolean;
  /** So many faults of these kinds, from the beginning until then (ms). */
  readonly faults?: { readonly kinds: readonly FaultName[]; readonly count: number; readonly untilMs: number };
}

/** Seeds that are tried one after the other. */
export interface SeedRange {
  readonly from: number;
  readonly count: number;
}

/** A deliberate breakage that must be caught. */
export interface Mutant {
  readonly name: string;
  /** The protocol whose runs must show it; PaRiS when absent. */
  readonly protocol?: string;
  /** The rule of `SPEC.md`, or the line of the paper, that it breaks. */
  readonly breaks: string;
  /** What it does. */
  readonly does: string;
  readonly patches: readonly Patch[];
  /**
   * One of these must catch it. The first one does, as long as nothing shifts the runs; for a breakage that needs a rare run,
   * `plans/<name>.json` has such a run, which is tried before them.
   */
  readonly seeds: SeedRange;
  readonly profile?: Profile;
  /** For what no plan can contain: a scenario of `packages/protocols/src/paris/testdata` that shows it. */
  readonly script?: string;
}

/** Something unusual that is correct: it must pass. */
export interface Variant {
  readonly name: string;
  /** What it does. */
  readonly does: string;
  readonly patches: readonly Patch[];
}

/**
 * The text with the patch in it.
 * @throws RangeError unless the place occurs exactly once
 */
export function patched(text: string, { file, in: part, find, replace }: Patch): string {
  const places = placesOf(text, part, find);
  const [place] = places;
  if (place === undefined || places.length > 1) {
    throw new RangeError(`${file} has ${places.length} places with ${JSON.stringify(find)} in ${part}, not one`);
  }
  return text.slice(0, place.start) + replace + text.slice(place.end);
}
