import type { Op, Transaction } from '@isochron/checker';
import { type Content, compose, type KeyWrite, type QualifiedKey, type TxId, Update } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import { writeIn } from '../checks/evidence/documents.js';
import type { ClientView } from '../checks/evidence/observations.js';
import type { ClientTransaction, Seen } from './session.js';

/** The reads and writes of one transaction, from its client's point of view. */
export class Recording implements ClientView {
  readonly ops: Op[] = [];
  readonly written = new Map<QualifiedKey, KeyWrite['value']>();
  /** The commit request was sent: from now on it may take effect. */
  sent = false;

  constructor(
    readonly session: string,
    /** How often its session had been exported before. */
    readonly generation: number,
    readonly tx: ClientTransaction,
    readonly floor: Snapshot,
    readonly own: ClientView['own'],
    readonly inDoubt: ClientView['inDoubt'],
  ) {}

  get txId(): TxId {
    return this.tx.id;
  }

  get snapshot(): Snapshot | undefined {
    return this.tx.snapshot;
  }

  get writes(): readonly KeyWrite[] {
    return [...this.written].map(([key, value]) => ({ key, value }));
  }

  saw({ key, value }: Seen): void {
    this.ops.push({ f: 'r', k: key, v: nameOf(value) });
  }

  write(key: QualifiedKey, value: Content): void {
    const older = this.written.get(key);
    this.written.set(key, older === undefined || !(value instanceof Update) ? value : compose(older, value));
    this.ops.push({ f: 'w', k: key, v: nameOf(value) });
  }
}

/** The histories of all sessions, as `packages/checker` reads them. */
export class Histories {
  readonly lines: Transaction[] = [];
  readonly #seq = new Map<string, number>();

  add(session: string, { txId, ops }: Pick<Recording, 'txId' | 'ops'>, status: Transaction['status']): void {
    const seq = this.#seq.get(session) ?? 0;
    this.#seq.set(session, seq + 1);
    this.lines.push({ session, seq, tx: txId, status, ops });
  }
}

/** The write that a content or a document names. */
const nameOf = (value: Content): string | null =>
  value instanceof Uint8Array ? `bytes of ${value.length}` : writeIn(value);
