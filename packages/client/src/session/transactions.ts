/** A client of a protocol with transactions: one-shot reads and writes are transactions, too. */
import type { Content, QualifiedKey, Timestamp, Value } from '@isochron/core/ids';
import type { Session, SessionState } from '@isochron/protocols/kernel/transactions/session';
import type { Caller, Cancellable } from '../link/exchange.js';
import type { Welcome } from '../link/frames.js';
import { commit } from './commits.js';
import type { Engine, OpenEngine } from './engine.js';
import { type ExportedState, exportCommits, exportWrites } from './exported.js';
import type { Committed } from './outcome.js';
import type { ClientParts } from './parts.js';
import { readKeys } from './reads.js';
import { SnapshotHandle } from './snapshot-handle.js';

/** Opens a session of the protocol. @param id 128 random bits as text, never used by another session (P8) */
export type OpenSession = (id: string, state?: SessionState) => Session;

class Transactions implements Engine {
  readonly #core: ClientParts;

  constructor(
    core: ClientParts,
    readonly session: Session,
  ) {
    this.#core = core;
  }

  get ust(): Timestamp {
    return this.session.ust;
  }

  welcomed({ ust, deps }: Welcome): void {
    this.session.observe({ ts: ust, deps });
  }

  stable(ust: Timestamp): void {
    this.session.stable(ust);
  }

  read(keys: readonly QualifiedKey[], caller: Caller<readonly (Value | null)[]>): Cancellable | undefined {
    const handle = new SnapshotHandle(this.#core, 'one-shot');
    return readKeys(handle, keys, {
      resolve: (values) => {
        handle.end();
        caller.resolve(values);
      },
      reject: (reason) => {
        handle.end();
        caller.reject(reason);
      },
    });
  }

  write(key: QualifiedKey, content: Content, caller: Caller<Committed>): Cancellable | undefined {
    const begin = () => {
      const tx = this.session.begin();
      tx.write(key, content);
      return tx;
    };
    return commit(this.#core, [{ key, value: content }], begin, undefined, caller);
  }

  detach(): void {
    this.session.detach(this.#core.settings.newId());
  }

  export(): ExportedState {
    const { ust, deps, hwt, cache, own = [] } = this.session.export();
    const commits = own.length > 0 && { commits: exportCommits(own) };
    return { ...(deps === undefined ? {} : { deps }), ust, hwt, writes: exportWrites(cache), ...commits };
  }
}

/** A new name in any case: two holders of one exported session must not make the same transaction ids (P8). */
export const openTransactions =
  (open: OpenSession): OpenEngine =>
  (core, _kit, _welcome, imported) =>
    new Transactions(core, open(core.settings.newId(), imported?.state));
