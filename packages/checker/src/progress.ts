/** Lines between two reports. Smaller histories take too short for a report. */
const EVERY_LINES = 100_000;

/** Reports the progress of a large history on stderr. */
export class Progress {
  readonly #out: { write(text: string): unknown };
  #lines = 0;
  #bytes = 0;
  #totalBytes: number | undefined;

  constructor(out: { write(text: string): unknown }) {
    this.#out = out;
  }

  /** Passes the input on and counts it. */
  async *watch(chunks: AsyncIterable<Uint8Array>, totalBytes: number | undefined): AsyncGenerator<Uint8Array> {
    this.#totalBytes = totalBytes;
    for await (const chunk of chunks) {
      this.#bytes += chunk.length;
      yield chunk;
    }
  }

  /** A line was read. */
  line(): void {
    if (++this.#lines % EVERY_LINES === 0) this.#print(`${this.#lines} lines read${this.#share()}`);
  }

  /** A new phase begins, after all lines were read. */
  phase(what: string): void {
    if (this.#lines >= EVERY_LINES) this.#print(what);
  }

  #share(): string {
    const total = this.#totalBytes ?? 0;
    return total === 0 ? '' : `, ${Math.floor((100 * this.#bytes) / total)} %`;
  }

  #print(text: string): void {
    this.#out.write(`check: ${text}\n`);
  }
}
