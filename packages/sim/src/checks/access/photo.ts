/** A photo as its document has it. */
export interface Photo {
  readonly id: string;
  /** The principal that added it. */
  readonly by: string;
  readonly album: string;
  /** The principals that had been removed from the album when it was added: they were never invited again. */
  readonly hiddenFrom: readonly string[];
}
