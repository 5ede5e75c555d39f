/**
 * The messages of a node that returns (M8–M12). Each is declared once: its sender and receiver, its fields in the order
 * in which they are encoded, their validation, and the type.
 */
import {
  boolean,
  type Infer,
  list,
  type MessageOf,
  type MessageSchema,
  message,
  nullable,
  object,
  optional,
  text,
  timestamp,
  uint,
} from '@isochron/core';
import { needs, partition, partitions, region, txId, writes } from '../replication/fields.js';

/**
 * Returned node → every other member, once both have adopted the map of this version: what is deferred there, and was
 * not committed again at or below this stable time?
 */
export const DeferredReq = message('DeferredReq', 108, { version: uint, stable: timestamp });
export type DeferredReq = Infer<typeof DeferredReq>;

/** A slice that a map has deferred. */
export const DeferredSlice = object({
  txId,
  partition,
  attempt: uint,
  home: region,
  map: uint,
  cohorts: partitions,
  avoid: optional(list(region, 64)),
  /** The first timestamp: deferred transactions are committed again in the order of these (M11). */
  first: timestamp,
  pt: timestamp,
  /** Null for a vote. */
  ct: nullable(timestamp),
  /** Of the writes and the principal. */
  digest: text(1024),
  writes,
  needs,
  /** Of a slice of a suspended node: what the sender had received. */
  isCopy: optional(boolean),
});
export type DeferredSlice = Infer<typeof DeferredSlice>;

/** Member → returned node. */
export const DeferredResp = message('DeferredResp', 109, {
  version: uint,
  slices: list(DeferredSlice),
});
export type DeferredResp = Infer<typeof DeferredResp>;

/** Returned node → replica: a part of the transaction was never prepared, so that no cohort has committed: drop it. */
export const DropDeferred = message('DropDeferred', 110, { partition, txId, attempt: uint });
export type DropDeferred = Infer<typeof DropDeferred>;

const messages = { DeferredReq, DeferredResp, DropDeferred };
export type ReturnMessage = MessageOf<typeof messages>;
/** Tags 108–110 are these. */
export const returnSchema: MessageSchema<ReturnMessage> = messages;
