/** Deliberate breakages, as data. */
import type { SessionStoreLimits } from '@isochron/sessions';
import type { FaultName } from '@isochron/sim/faults/table';
import { type Place, placesOf } from './anchor.js';

/**
 * A place of the source that is replaced: a statement, or a part of one, that occurs exactly once in a named part of
 * a file. Its layout and the code around it make no difference.
 */
export interface Patch {
  /** Path of a TypeScript file of a package, from the repository's root. */
  readonly file: string;
  /** The function, the constant or the member (`Cohort.#abort`) that contains the place. */
  readonly in: string;
  readonly find: string;
  readonly replace: string;
}

/** Replacements in the drawn plans, so that runs can show a breakage. */
export interface Profile {
  /** Number of bursts of writes at the beginning of each session. */
  readonly bursts?: number;
  readonly settings?: Readonly<Record<string, number>>;
  readonly environment?: Readonly<Record<string, unknown>>;
  /** Every run has callers over HTTP, and nodes keep at most this much for them. */
  readonly http?: Partial<SessionStoreLimits>;
  /** The callers repeat their writes, at nodes of all regions. */
  readonly repeats?: boolean;
  /**
   * Every run has readers of the change feed, with documents or without, live queries, or albums or notes with access
   * rules.
   */
  readonly reads?: 'changes' | 'documents' | 'live' | 'albums' | 'notes';
  /** Every run has boards under access rules. */
  readonly writes?: 'boards';
  /** Sessions often continue at another node, with their token alone. */
  readonly carriesTokens?: boolean;
  /** Number of faults of these kinds, from the beginning until `untilMs`. */
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
  /** What the mutant does wrong: a verb and the rest, for "it ...". */
  readonly does: string;
  readonly patches: readonly Patch[];
  /**
   * One of these must catch it: the first one, until a change shifts the runs. For a breakage that needs a rare run,
   * `plans/<name>.json` has such a run, which is tried before them.
   */
  readonly seeds: SeedRange;
  readonly profile?: Profile;
  /** If no plan can show it: a scenario of `packages/protocols/src/paris/testdata` that does. */
  readonly script?: string;
}

/** An unusual behaviour that is correct: it must pass. */
export interface Variant {
  readonly name: string;
  /** What the variant does differently, as in {@link Mutant.does}. */
  readonly does: string;
  /** The rules whose saved runs the variant must pass. */
  readonly rules: readonly string[];
  readonly patches: readonly Patch[];
}

/**
 * The place of a patch in the text of its file.
 * @throws RangeError unless the place occurs exactly once
 */
export function placeOf(text: string, { file, in: part, find }: Patch): Place {
  const places = placesOf(text, part, find);
  const [place] = places;
  if (place === undefined || places.length > 1) {
    throw new RangeError(`${file} has ${places.length} places with ${JSON.stringify(find)} in ${part}, not one`);
  }
  return place;
}

/**
 * The text with the patch in it.
 * @throws RangeError unless the place occurs exactly once
 */
export function patched(text: string, patch: Patch): string {
  const { start, end } = placeOf(text, patch);
  return text.slice(0, start) + patch.replace + text.slice(end);
}
