import type { Committed } from '@isochron/client/session/outcome';
import type { Timestamp, TxId } from '@isochron/core/ids';
import { checkOptions } from '../check-options.js';
import type { Driver } from '../driver.js';

/** How long to wait for a write to be visible everywhere. */
export interface StableOptions {
  /** In ms, at most 60 000. Default 30 000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Proof of a commit: durable from now on, and visible to this session. */
export class WriteReceipt {
  readonly #driver: Driver;
  /** Commit timestamp. `snapshot({ at: timestamp })` anywhere contains the write. */
  readonly timestamp: Timestamp;
  /** Id of the transaction. */
  readonly txId: TxId;

  /** @internal */
  constructor(driver: Driver, { timestamp, txId }: Committed) {
    this.#driver = driver;
    this.timestamp = timestamp;
    this.txId = txId;
  }

  /**
   * Resolves once every node of every region serves the write: a session that begins anywhere from then on sees it.
   * Throws STABLE_TIMEOUT after `timeoutMs` (the write stays durable), CLIENT_CLOSED, or the signal's reason.
   */
  async stable(options: StableOptions = {}): Promise<void> {
    checkOptions(options, 'timeoutMs', 'signal');
    const { timeoutMs = 30_000, signal } = options;
    return this.#driver.call({ f: 'stable', ts: this.timestamp, timeoutMs }, signal);
  }
}
