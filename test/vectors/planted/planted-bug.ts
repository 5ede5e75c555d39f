/** The files that must detect a bug; `tls`: the listeners of the test server. */
export type Kind =
  | 'transactions'
  | 'operations'
  | 'names'
  | 'folds'
  | 'queries'
  | 'steps'
  | 'renewals'
  | 'suspensions'
  | 'tls';

export interface PlantedBug {
  readonly name: string;
  readonly at: readonly Kind[];
  /** The wrong behaviour. */
  readonly does: string;
  /**
   * Paths from `sourcesOf`. One program contains all bugs, and has one of them at a time: `planted` in a replacement is
   * true while its bug is chosen. A replacement without it and its place are expressions.
   */
  readonly patches: readonly SwiftPatch[];
}

/** One place of a Swift source to replace. The text must occur exactly once in the file. */
export interface SwiftPatch {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/**
 * The text with the patch applied.
 * @throws RangeError unless the place occurs exactly once
 */
export function patched(text: string, { file, find, replace }: SwiftPatch): string {
  const places = text.split(find).length - 1;
  if (places !== 1) throw new RangeError(`${file} has ${places} places with ${JSON.stringify(find)}, not one`);
  return text.replace(find, () => replace);
}
