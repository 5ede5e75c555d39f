import type { TxId } from '@isochron/core';

/** Attempts that have not begun, and about which an outsider asked with a list of its own (D4, retries anywhere). */
export class StrangeAttempts {
  readonly #attempts = new Set<string>();

  add(txId: TxId, attempt: number): void {
    this.#attempts.add(nameOf(txId, attempt));
  }

  has(txId: TxId, attempt: number): boolean {
    return this.#attempts.has(nameOf(txId, attempt));
  }
}

const nameOf = (txId: TxId, attempt: number): string => `${txId} ${attempt}`;
