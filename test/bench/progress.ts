/** Reports progress on stderr; stdout holds only the results. */

export class Progress {
  readonly #live = process.stderr.isTTY === true && process.env.TERM !== 'dumb' && !process.env.CI;
  readonly #startedAt = performance.now();
  #done = 0;
  #current = '';

  constructor(readonly total: number) {}

  /** A benchmark begins. */
  begin(name: string): void {
    this.#current = name;
    this.#done++;
    this.#show('');
  }

  /** The current step. Shown only in a terminal. */
  step(text: string): void {
    if (this.#live) this.#show(text);
  }

  /** A line that stays visible. */
  line(text: string): void {
    process.stderr.write(`${this.#live ? '\r\x1b[K' : ''}${text}\n`);
  }

  end(): void {
    if (this.#live) process.stderr.write('\r\x1b[K');
  }

  #show(text: string): void {
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(0);
    const line = `[${this.#done}/${this.total}] ${this.#current}${text === '' ? '' : `: ${text}`} (${seconds} s)`;
    process.stderr.write(this.#live ? `\r\x1b[K${line}` : `${line}\n`);
  }
}
