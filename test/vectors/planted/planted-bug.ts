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
  readonly patches: readonly SwiftPatch[];
}

/** One place of a Swift source that is replaced. The text must occur exactly once in the file. */
export interface SwiftPatch {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/**
 * The text with the patch in it.
 * @throws RangeError unless the place occurs exactly once
 */
export function patched(text: string, { file, find, replace }: SwiftPatch): string {
  const places = text.split(find).length - 1;
  if (places !== 1) throw new RangeError(`${file} has ${places} places with ${JSON.stringify(find)}, not one`);
  return text.replace(find, () => replace);
}
