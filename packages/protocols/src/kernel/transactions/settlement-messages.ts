/**
 * The messages of a settlement (D10), in its order. Each is declared once: its sender and receiver, its fields in the
 * order in which they are encoded, their validation, and the type.
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
  timestamp,
  uint,
} from '@isochron/core';
import { keys, node, partition, partitions, region, txId } from '../replication/fields.js';
import { Loss } from '../replication/losses.js';

const losses = list(Loss);

/**
 * Node that has lost its disk → every node (D10): votes of the previous incarnation no longer count. See
 * `settlement.ts`.
 */
export const LossNotice = message('LossNotice', 44, {
  /** Of the sender: names its incarnation. */
  incarnation: timestamp,
});
export type LossNotice = Infer<typeof LossNotice>;

/** Node → node that has lost its disk: it holds no such vote. */
export const LossNoticed = message('LossNoticed', 45, {
  incarnation: timestamp,
  /** Losses above its stable time: not every node may have stored their verdict. */
  losses,
  /** All others that it reports: the lost disk reported them, too. */
  reported: losses,
  /** The highest version of a map that the sender knows a decision or a seal of. */
  map: uint,
});
export type LossNoticed = Infer<typeof LossNoticed>;

/**
 * Node that has lost its disk → replica (D10): which of your own transactions above `after` have a cohort on my node?
 */
export const SuspectsReq = message('SuspectsReq', 46, { partition, after: timestamp });
export type SuspectsReq = Infer<typeof SuspectsReq>;

/** A transaction that has, or had, a cohort on a lost disk. */
export const Suspect = object({
  txId,
  attempt: uint,
  /** Whether this cohort has committed it; otherwise it is prepared, and stays so until the verdict. */
  committed: boolean,
  /** Its commit timestamp, or the proposal of this cohort. */
  ts: timestamp,
  /** Partitions whose cohort was the asker. None where the replica has received it, and does not know its cohorts. */
  partitions,
  /** The keys that it wrote there. */
  keys,
});
export type Suspect = Infer<typeof Suspect>;

/** Replica → itself: the range `(request.after, upTo]` of its log has been brought to memory; answer `request`. */
export const ReadSuspects = message('ReadSuspects', 47, {
  node,
  request: SuspectsReq,
  /** Those that were not in the log when the request came. */
  queued: list(Suspect),
  upTo: timestamp,
});
export type ReadSuspects = Infer<typeof ReadSuspects>;

/** Replica → node that has lost its disk: one page of the log, and the transactions that are not in the log yet. */
export const SuspectsResp = message('SuspectsResp', 48, {
  partition,
  region,
  after: timestamp,
  suspects: list(Suspect),
  next: nullable(timestamp),
});
export type SuspectsResp = Infer<typeof SuspectsResp>;

/**
 * Node that has lost its disk → every node (D10): these transactions are lost; take back those that may be taken back.
 */
export const TakeBackReq = message('TakeBackReq', 49, {
  part: uint,
  /** Transactions outside the verdict are whole: they may be decided again. */
  last: boolean,
  losses,
});
export type TakeBackReq = Infer<typeof TakeBackReq>;

/** Node → node that has lost its disk, after the verdict is durable. */
export const TakeBackResp = message('TakeBackResp', 50, { part: uint });
export type TakeBackResp = Infer<typeof TakeBackResp>;

const messages = {
  LossNotice,
  LossNoticed,
  SuspectsReq,
  ReadSuspects,
  SuspectsResp,
  TakeBackReq,
  TakeBackResp,
};
export type SettlementMessage = MessageOf<typeof messages>;
/** Tags 44–50 are these. */
export const settlementSchema: MessageSchema<SettlementMessage> = messages;
