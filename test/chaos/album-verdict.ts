/** What readers of albums were shown and refused, and the judgement on it. */

/** The document of a photo. */
export interface Photo {
  readonly id: string;
  /** Whether the reader was not allowed to see the album when the photo was added. */
  readonly isHidden: boolean;
}

/** The ways in which a session is shown photos. */
export const WAYS = ['reads', 'lists', 'live queries', 'the change feed'] as const;
export type Way = (typeof WAYS)[number];

const zeros = (): Record<Way, number> => ({ reads: 0, lists: 0, 'live queries': 0, 'the change feed': 0 });

export class AlbumVerdict {
  /** Removals of the reader, and deletions of hidden photos before the next invitation, that were acknowledged. */
  removals = 0;
  deletions = 0;
  readonly #shown = zeros();
  readonly #refused = zeros();
  readonly #leaked: string[] = [];
  readonly #failed: string[] = [];

  /** @param where the session and its region */
  photoShown(where: string, way: Way, { id, isHidden }: Photo): void {
    this.#shown[way]++;
    if (isHidden) this.#leaked.push(`${where} was shown ${id} by ${way}`);
  }

  /** A session was refused with PERMISSION_DENIED. */
  refused(way: Way): void {
    this.#refused[way]++;
  }

  /** A request failed that no rule refuses and no fault ends. */
  failed(sentence: string): void {
    this.#failed.push(sentence);
  }

  /** Whether every way has shown photos and was refused, or a photo was shown that must not be. */
  get isConclusive(): boolean {
    return this.#leaked.length > 0 || this.#unshown().length === 0;
  }

  figures(): [string, string][] {
    const counts = WAYS.map((way) => `${way} ${this.#shown[way]} / ${this.#refused[way]}`);
    return [
      [
        'changes of albums',
        `${this.removals} removals of the reader, ${this.deletions} deletions before it was invited again`,
      ],
      ['photos that the reader was shown / refusals', counts.join(', ')],
    ];
  }

  violations(): Record<string, readonly string[]> {
    return {
      'photos shown to a reader that was removed': this.#leaked,
      'requests for albums that failed without reason': this.#failed,
      'albums that were not put to the test': this.#unshown(),
    };
  }

  /** A way that has shown no photo, or was never refused, proves nothing. */
  #unshown(): string[] {
    return WAYS.flatMap((way) => [
      ...(this.#shown[way] > 0 ? [] : [`the reader was shown no photo by ${way}`]),
      ...(this.#refused[way] > 0 ? [] : [`the reader was never refused by ${way}`]),
    ]);
  }
}
