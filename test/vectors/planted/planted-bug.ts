import type { Patch } from '../../mutants/mutant.js';

/** The files that must notice a bug. */
export type Kind = 'transactions' | 'operations' | 'names' | 'steps';

export interface PlantedBug {
  readonly name: string;
  readonly at: readonly Kind[];
  /** What it does. */
  readonly does: string;
  /**
   * Paths from `sourcesOf`. All bugs are in one program, which has one of them at a time: `planted` in a
   * replacement is true where that is this one. Where it is not in it, place and replacement are expressions.
   */
  readonly patches: readonly Patch[];
}
