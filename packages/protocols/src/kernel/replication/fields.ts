/** Kinds of fields that messages share: their contents, and their greatest length. `messages.ts` has the messages. */
import {
  boolean,
  content,
  count,
  type Dependency,
  type Deps,
  type KeyWrite,
  type Kind,
  type LogGroup,
  type LoggedTx,
  list,
  MAX_PRINCIPAL_LENGTH,
  type NodeId,
  need,
  nullable,
  type Origin,
  optional,
  type PartitionId,
  type QualifiedKey,
  type RegionId,
  type StoredVersion,
  struct,
  type TxId,
  text,
  timestamp,
  uint,
  type Version,
  value,
  type WallMs,
} from '@isochron/core';

export const partition: Kind<PartitionId> = uint;
export const name = text(128);
export const principal = text(MAX_PRINCIPAL_LENGTH);
export const region: Kind<RegionId> = name;
export const node: Kind<NodeId> = name;
export const txId: Kind<TxId> = name;
export const wallMs: Kind<WallMs> = count;
export const key: Kind<QualifiedKey> = text(2048);
export const keys = list(key, 100_000);
/** Partitions of one transaction, or of one message. */
export const partitions = list(partition, 100_000);
/**
 * Entries beside a timestamp (`Deps`): none under protocols with one timestamp, many under those that track
 * dependencies.
 */
export const deps: Kind<Deps | undefined> = optional(list(timestamp, 100_000));
export const writes = list(struct<KeyWrite>({ key, value: content }), 100_000);
/** Versions that something depends on. Absent, never empty, if there are none. */
export const dependencies = optional(
  list(struct<Dependency>({ key, source: uint, ts: timestamp, near: optional(boolean) }), 1_000_000),
);
const siblings = optional(partitions);
/** A version as replicas store it. */
export const version = struct<StoredVersion>({
  ts: timestamp,
  txId,
  region,
  value: content,
  deps,
  depends: dependencies,
  siblings,
  at: optional(timestamp),
});
/** A version as reads return it. */
export const foldedVersion = struct<Version>({
  ts: timestamp,
  txId,
  region,
  value: nullable(value),
  deps,
  depends: dependencies,
  siblings,
  origin: optional(struct<Origin>({ ts: timestamp, txId })),
  at: optional(timestamp),
});
/** One version for each key, in order; null for a key without a version. */
export const versions = list(nullable(foldedVersion));
/** Nodes that a transaction needs. Absent, never empty, if there are none. */
export const needs = optional(list(need, 100_000));
/** A transaction's writes on one partition. */
export const loggedTx = struct<LoggedTx>({
  txId,
  writes,
  deps,
  depends: dependencies,
  siblings,
  attempt: optional(uint),
  needs,
  at: optional(timestamp),
});
/** Transactions with one commit timestamp. */
export const group = struct<LogGroup>({ ct: timestamp, txs: list(loggedTx) });
