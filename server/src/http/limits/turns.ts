/**
 * Clients that have used most of their share of the node take turns: one piece of their work in each turn of the event
 * loop, one client after the other. The work of all other clients is done as it comes, so it waits for one such piece
 * at most.
 */

/** Runs one piece of work. */
type Piece = () => void;

export class ClientTurns {
  /** The work of each client, in its order; the clients in the order of their next turns. */
  readonly #waiting = new Map<string, Piece[]>();
  #isScheduled = false;
  readonly #next = (): void => this.#run();

  /** Does a piece of work of a client when its turn comes, after the ones that wait already. */
  take(client: string, piece: Piece): void {
    const pieces = this.#waiting.get(client);
    if (pieces !== undefined) pieces.push(piece);
    else this.#waiting.set(client, [piece]);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    setImmediate(this.#next);
  }

  #run(): void {
    const [[client, pieces] = ['', []]] = this.#waiting;
    const piece = pieces.shift();
    this.#waiting.delete(client);
    if (pieces.length > 0) this.#waiting.set(client, pieces);
    try {
      piece?.();
    } finally {
      this.#isScheduled = false;
      // Last: what the piece has scheduled, such as the sending of its answers, comes before the next piece.
      this.#schedule();
    }
  }
}
