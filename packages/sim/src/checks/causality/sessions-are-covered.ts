import type { NodeId, QualifiedKey, StoredVersion, TxId } from '@isochron/core';
import type { Check, CheckContext } from '../check.js';
import type { Ledger } from '../evidence/ledger.js';

/**
 * Causality, from one message to the next: a snapshot covers everything that its session has seen, a version depends on
 * everything that its session has seen, and a session that is shown a version has seen its dependencies. Histories show
 * a violation only when a client happens to read the difference.
 */
export class SessionsAreCovered implements Check {
  readonly name = 'sessions-are-covered';

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
  ) {}

  chosen(node: NodeId, text: string, covers: boolean): void {
    if (!covers) this.#fail(`${node} chooses ${text}`, node);
  }

  stamped(node: NodeId, txId: TxId, covers: (version: StoredVersion) => boolean): void {
    if (this.ledger.isDamaged(txId)) return;
    for (const [partition, { writes }] of this.ledger.committed(txId)?.slices ?? []) {
      for (const { key } of writes) {
        const version = this.#version(txId, key);
        if (version === undefined || covers(version)) continue;
        this.#fail(`${node} writes ${txId} on ${partition} with ${show(version)}, its session has seen more`, txId);
      }
    }
  }

  learned(node: NodeId, txId: TxId, key: QualifiedKey, covers: (version: StoredVersion) => boolean): void {
    const version = this.#version(txId, key);
    if (version === undefined || this.ledger.isDamaged(txId) || covers(version)) return;
    this.#fail(`${node} shows ${key} of ${txId} with ${show(version)}, without its dependencies`, txId, key);
  }

  #version(txId: TxId, key: QualifiedKey): StoredVersion | undefined {
    return this.ledger.chain(key).find((version) => version.txId === txId);
  }

  #fail(message: string, ...about: string[]): void {
    this.context.fail(this.name, message, about);
  }
}

const show = ({ ts, deps = [] }: StoredVersion): string => `${ts} [${deps.join(' ')}]`;
