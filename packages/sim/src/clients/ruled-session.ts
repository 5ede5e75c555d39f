/** Transactions of a session under access rules: what its documents are, and how its commits end. */
import type { AnyMessage, KeyWrite } from '@isochron/core';
import { IsochronError, type QualifiedKey } from '@isochron/core';
import type { Co } from '../engine/coroutine.js';
import type { MachineSession } from './client.js';
import { type BeginOptions, RequestFailed } from './session.js';
import { MachineTransaction } from './transactions.js';

export class RuledSession<M extends AnyMessage> {
  /** Whether a commit of it waits for its result. */
  isCommitting = false;

  constructor(
    readonly session: MachineSession<M>,
    readonly note: (what: () => string) => void,
  ) {}

  begin(options: BeginOptions): MachineTransaction {
    const tx = this.session.begin(options);
    if (tx instanceof MachineTransaction) return tx;
    throw new IsochronError('NOT_SUPPORTED_BY_PROTOCOL', 'access rules take transactions');
  }

  *read<T>(tx: MachineTransaction, key: QualifiedKey): Co<T | undefined> {
    try {
      const [seen] = yield* tx.read([key]);
      return typeof seen?.value === 'string' ? (JSON.parse(seen.value) as T) : undefined;
    } catch (error) {
      tx.end();
      throw error;
    }
  }

  /** Writes and deletes documents in a transaction of its own. */
  *write(documents: Readonly<Record<QualifiedKey, object | null>>): Co<'committed' | 'unknown'> {
    const tx = this.begin({ mode: 'one-shot' });
    for (const [key, value] of Object.entries(documents))
      tx.write(key, value === null ? null : (JSON.stringify(value) satisfies KeyWrite['value']));
    return yield* this.commit(tx);
  }

  /** @throws RequestFailed for one that has not committed, and never will */
  *commit(tx: MachineTransaction): Co<'committed' | 'unknown'> {
    this.note(() => `commits ${tx.id}: ${tx.tx.writes.map(({ key, value }) => `${key}=${String(value)}`).join(' ')}`);
    this.isCommitting = true;
    const result = yield* tx.commit({ duplicated: false, sent: () => {} });
    this.isCommitting = false;
    this.note(() => `receives that ${tx.id} is ${JSON.stringify(result)}`);
    if (result.status === 'aborted') throw new RequestFailed(result.code);
    return result.status;
  }
}
