/** Limits the places of all holders together and of each of them, so that no holder takes all. */
export class Quota<H = string> {
  readonly #held = new Map<H, number>();
  #taken = 0;

  constructor(
    readonly max: number,
    readonly maxPerHolder: number,
  ) {}

  /** Places that are taken now. */
  get taken(): number {
    return this.#taken;
  }

  /** Places that a holder has taken. */
  held(holder: H): number {
    return this.#held.get(holder) ?? 0;
  }

  /** Takes places for a holder: all of them, or none if too few are left. @returns whether they were taken */
  take(holder: H, count = 1): boolean {
    const held = this.held(holder) + count;
    if (held > this.maxPerHolder || this.#taken + count > this.max) return false;
    this.#held.set(holder, held);
    this.#taken += count;
    return true;
  }

  /** Returns places of the holder. */
  give(holder: H, count = 1): void {
    const left = this.held(holder) - count;
    if (left > 0) this.#held.set(holder, left);
    else this.#held.delete(holder);
    this.#taken -= count;
  }
}
