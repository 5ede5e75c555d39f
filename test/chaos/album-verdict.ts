/** What readers of albums were shown and refused, what strangers could write, and the judgement on it. */

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
  /** Attempts of strangers to take an album over that were refused. */
  held = 0;
  readonly #shown = zeros();
  readonly #refused = zeros();
  readonly #leaked: string[] = [];
  readonly #failed: string[] = [];
  readonly #seized: string[] = [];

  /** @param where the session and its region */
  photoShown(where: string, way: Way, { id, isHidden }: Photo): void {
    this.#shown[way]++;
    if (isHidden) this.#leaked.push(`${where} was shown ${id} by ${way}`);
  }

  /** A session was refused with PERMISSION_DENIED. */
  refused(way: Way): void {
    this.#refused[way]++;
  }

  /** A stranger has committed an album over that of its owner. @param album its name, and the node */
  seized(album: string): void {
    this.#seized.push(album);
  }

  /** A request failed that no rule refuses and no fault ends. */
  failed(sentence: string): void {
    this.#failed.push(sentence);
  }

  /** Whether every way has shown photos and was refused, and a stranger; or something was done that must not be. */
  get isConclusive(): boolean {
    return this.#leaked.length + this.#seized.length > 0 || this.#unshown().length === 0;
  }

  figures(): [string, string][] {
    const counts = WAYS.map((way) => `${way} ${this.#shown[way]} / ${this.#refused[way]}`);
    return [
      [
        'changes of albums',
        `${this.removals} removals of the reader, ${this.deletions} deletions before it was invited again`,
      ],
      ['photos that the reader was shown / refusals', counts.join(', ')],
      ['albums that strangers took over / refusals', `${this.#seized.length} / ${this.held}`],
    ];
  }

  violations(): Record<string, readonly string[]> {
    return {
      'photos shown to a reader that was removed': this.#leaked,
      'albums that a stranger took over in an old snapshot': this.#seized,
      'requests for albums that failed without reason': this.#failed,
      'albums that were not put to the test': this.#unshown(),
    };
  }

  /** A way that has shown no photo, or was never refused, proves nothing. */
  #unshown(): string[] {
    const unshown = WAYS.flatMap((way) => [
      ...(this.#shown[way] > 0 ? [] : [`the reader was shown no photo by ${way}`]),
      ...(this.#refused[way] > 0 ? [] : [`the reader was never refused by ${way}`]),
    ]);
    return this.held > 0 ? unshown : [...unshown, 'no stranger was refused an album'];
  }
}
