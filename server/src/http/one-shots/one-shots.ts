/** Reads and writes of one request each, under any protocol. */
import type { KeyWrite, QualifiedKey, Timestamp, TxId, Version } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { FastifyRequest } from 'fastify';

/** The result of a read, and the caller's next token. */
export interface Shown {
  readonly versions: readonly (Version | null)[];
  /** Timestamp of the snapshot that was read; absent where there is no snapshot, or it has no timestamp. */
  readonly snapshot: Timestamp | undefined;
  readonly token: string;
}

/** A write that is durable, and the caller's next token. */
export interface WriteResult {
  readonly txId: TxId;
  readonly ct: Timestamp;
  readonly token: string;
}

/**
 * For the caller that a request's headers name. Every failure is an IsochronError; a write that may have taken effect
 * fails with an `UndecidedError`.
 */
export interface OneShots {
  get(request: FastifyRequest, key: QualifiedKey, at: Snapshot | null): Promise<Shown>;
  /** Several keys. */
  read(request: FastifyRequest, keys: readonly QualifiedKey[], at: Snapshot | null): Promise<Shown>;
  /** All or nothing. */
  write(request: FastifyRequest, writes: readonly KeyWrite[]): Promise<WriteResult>;
  /** Merges a patch into a document, in one transaction. */
  patch(request: FastifyRequest, key: QualifiedKey, patch: unknown): Promise<WriteResult>;
}
