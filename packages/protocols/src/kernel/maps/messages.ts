/**
 * The messages that decide a map, in the order of a decision (M1–M3). Each is declared once: its sender and receiver,
 * its fields in the order in which they are encoded, their validation, and the type.
 */
import {
  boolean,
  clusterMap,
  count,
  type Infer,
  list,
  type MessageOf,
  type MessageSchema,
  message,
  nullable,
  object,
  oneOf,
  optional,
  timestamp,
  uint,
} from '@isochron/core';
import { node } from '../replication/fields.js';

/** A map that a voter has accepted in a ballot. */
export const AcceptedMap = object({ ballot: count, map: clusterMap });
export type AcceptedMap = Infer<typeof AcceptedMap>;

/** Node → node, when their link opens: the highest version here. A node that knows more sends it. */
export const NewestMap = message('NewestMap', 99, { version: uint });
export type NewestMap = Infer<typeof NewestMap>;

/**
 * The node's driver → its own machine: let the node leave the members, in order, until `ReturnReq` or its next start.
 */
export const LeaveReq = message('LeaveReq', 101, { ref: uint });
export type LeaveReq = Infer<typeof LeaveReq>;

/** The node's driver → its own machine: the node leaves no more, and comes back if it has left. */
export const ReturnReq = message('ReturnReq', 105, { ref: uint });
export type ReturnReq = Infer<typeof ReturnReq>;

/**
 * The node's driver → its own machine → every voter: the nodes from which the sender receives nothing, all of them at
 * every change.
 */
export const Silent = message('Silent', 106, { nodes: list(node, 65_536) });
export type Silent = Infer<typeof Silent>;

/** Why a node stays a member: no other member has a replica of a partition, another node leaves, or `ReturnReq`. */
export type Staying = (typeof STAYING)[number];
const STAYING = ['only-replica', 'another-leaves', 'returns'] as const;

/** Maps → the node's driver: the node is no member any more, or stays a member. */
export const LeaveResp = message('LeaveResp', 102, { ref: uint, why: optional(oneOf(...STAYING)) });
export type LeaveResp = Infer<typeof LeaveResp>;

/** Node → every node: new attempts of commits should avoid the sender, which leaves; or not any more. */
export const Leaving = message('Leaving', 103, { stays: optional(boolean) });
export type Leaving = Infer<typeof Leaving>;

/** Node → voter: decide the map after `version` without the sender, which prepares nothing more, or with it. */
export const MemberReq = message('MemberReq', 104, { version: uint, leaves: boolean });
export type MemberReq = Infer<typeof MemberReq>;

/** What an operator orders about nodes: suspend members at once, keep nodes away, end that, or evict nodes for ever. */
export type OrderAction = (typeof ACTIONS)[number];
const ACTIONS = ['suspend', 'hold', 'return', 'evict'] as const;

/** Why an order is refused. */
export type OrderRefusal = (typeof REFUSALS)[number];
const REFUSALS = [
  'unknown-node',
  'away',
  'held',
  'not-held',
  'member',
  'evicted',
  'answers',
  'no-majority',
  'silent',
  'only-replica',
  'rebuilding',
  'another-order',
  'late',
] as const;

const order = { action: oneOf(...ACTIONS), nodes: list(node, 65_536) };

/** The node's driver → its own machine: an operator's order about nodes of the cluster. */
export const OrderReq = message('OrderReq', 112, { ref: uint, ...order });
export type OrderReq = Infer<typeof OrderReq>;

/** Maps → the node's driver: a map carries the order out, or why none does, and the nodes that are the reason. */
export const OrderResp = message('OrderResp', 113, {
  ref: uint,
  why: optional(oneOf(...REFUSALS)),
  nodes: list(node, 65_536),
});
export type OrderResp = Infer<typeof OrderResp>;

/** Node → voter: decide the map after `version` as an operator orders. */
export const ChangeReq = message('ChangeReq', 114, { version: uint, ...order });
export type ChangeReq = Infer<typeof ChangeReq>;

/**
 * Node with an order to evict → every member: do not wait for these nodes where a lost disk is filled and settled. A
 * member that has not done that cannot seal.
 */
export const EvictionReq = message('EvictionReq', 115, { nodes: list(node, 65_536) });
export type EvictionReq = Infer<typeof EvictionReq>;

/** Member → node with the order: whether the member has all of its data, and may seal. */
export const EvictionResp = message('EvictionResp', 116, { isWhole: boolean });
export type EvictionResp = Infer<typeof EvictionResp>;

/** The node's driver → its own machine: decide the next map, with the same members. */
export const ProposeMap = message('ProposeMap', 100, {});
export type ProposeMap = Infer<typeof ProposeMap>;

/** Decider → every member: promise that no lower ballot decides the version; report nothing until it is adopted. */
export const SealReq = message('SealReq', 93, { version: uint, ballot: count });
export type SealReq = Infer<typeof SealReq>;

/** Member → decider, once the promise is durable. */
export const Sealed = message('Sealed', 94, {
  version: uint,
  ballot: count,
  /** The sender's durable minimum at the seal: no report of it has been higher. Null without a replica. */
  minimum: nullable(timestamp),
  /** The sender's stable time. */
  stable: timestamp,
  /** Whether it counts as a voter's promise: not where a lost disk may have had another promise. */
  votes: boolean,
  /** What the sender has accepted for the version. */
  accepted: optional(AcceptedMap),
});
export type Sealed = Infer<typeof Sealed>;

/** Member → voters: a seal for this version is still open here. The decider may be gone. */
export const StillSealed = message('StillSealed', 95, { version: uint });
export type StillSealed = Infer<typeof StillSealed>;

/** Decider → voters. */
export const AcceptReq = message('AcceptReq', 96, { ballot: count, map: clusterMap });
export type AcceptReq = Infer<typeof AcceptReq>;

/** Voter → decider, once it is durable. */
export const Accepted = message('Accepted', 97, { version: uint, ballot: count });
export type Accepted = Infer<typeof Accepted>;

/** Node → node that lacks them: decided maps, one version after the other. */
export const DecidedMaps = message('DecidedMaps', 98, { maps: list(clusterMap, 65_536) });
export type DecidedMaps = Infer<typeof DecidedMaps>;

const messages = {
  Silent,
  LeaveReq,
  ReturnReq,
  LeaveResp,
  Leaving,
  MemberReq,
  OrderReq,
  OrderResp,
  ChangeReq,
  EvictionReq,
  EvictionResp,
  NewestMap,
  ProposeMap,
  SealReq,
  Sealed,
  StillSealed,
  AcceptReq,
  Accepted,
  DecidedMaps,
};
export type MapMessage = MessageOf<typeof messages>;
/** Tags 93–106 and 112–116 are these. */
export const mapSchema: MessageSchema<MapMessage> = messages;
