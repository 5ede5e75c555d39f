/** Encoding and validation of what replicas and nodes say to one another. */
import {
  boolean,
  count,
  type Dependency,
  type KeyWrite,
  type LogGroup,
  type LoggedTx,
  list,
  type MessageSchema,
  nullable,
  oneOf,
  optional,
  struct,
  text,
  timestamp,
  uint,
  type Version,
  value,
} from '@isochron/core';
import type { CopyReq, HeartbeatSpan, ListedVersion, ReplicationMessage, VectorEntry } from './messages.js';

/** Ids of transactions, regions and nodes. */
export const name = text(128);
export const key = text(2048);
/** Entries beside a timestamp (`Deps`): none under protocols with one timestamp, many under those that track dependencies. */
export const deps = optional(list(timestamp, 100_000));
export const writes = list(struct<KeyWrite>({ key, value: nullable(value) }), 100_000);
/** What is depended on, by key. */
export const dependencies = optional(
  list(struct<Dependency>({ key, source: uint, ts: timestamp, near: optional(boolean) }), 1_000_000),
);
/** Other partitions of a transaction on one node. */
const siblings = optional(list(uint, 100_000));
export const version = struct<Version>({
  ts: timestamp,
  txId: name,
  region: name,
  value: nullable(value),
  deps,
  depends: dependencies,
  siblings,
});
export const listed = struct<ListedVersion>({ key, version });
const loggedTx = struct<LoggedTx>({
  txId: name,
  writes,
  deps,
  depends: dependencies,
  siblings,
  repeatable: optional(boolean),
});
const group = struct<LogGroup>({ ct: timestamp, txs: list(loggedTx) });
/** What is served everywhere, and what callers wait for to be served (`StableTime`). */
const service = { served: optional(timestamp), wanted: optional(timestamp) };
const wallMs = count;
const heartbeatSpan = struct<HeartbeatSpan>({
  from: timestamp,
  to: timestamp,
  verified: boolean,
  partitions: list(uint, 100_000),
});
const vector = list(struct<VectorEntry>({ region: name, ts: timestamp }), 1_000);
const copyReq = {
  ref: count,
  partition: uint,
  start: key,
  source: nullable(name),
  above: timestamp,
  clock: timestamp,
};

/** Tags are for ever: 27–39, 41, 42 and 51–54 are these. */
export const replicationSchema: MessageSchema<ReplicationMessage> = {
  Replicate: {
    tag: 27,
    fields: {
      partition: uint,
      source: name,
      from: timestamp,
      to: timestamp,
      groups: list(group),
      more: boolean,
      verified: boolean,
    },
  },
  Heartbeat: { tag: 28, fields: { partition: uint, source: name, from: timestamp, to: timestamp, verified: boolean } },
  Heartbeats: { tag: 53, fields: { source: name, spans: list(heartbeatSpan, 100_000) } },
  Wake: { tag: 54, fields: {} },
  ResyncReq: {
    tag: 29,
    fields: {
      partition: uint,
      region: name,
      from: timestamp,
      clock: timestamp,
      group: timestamp,
      incarnation: timestamp,
      peerIncarnation: timestamp,
      sourced: timestamp,
    },
  },
  GossipUp: { tag: 30, fields: { gst: nullable(timestamp), sOld: timestamp, wallMs, regional: deps, ...service } },
  GossipRoot: {
    tag: 31,
    fields: { region: name, gst: nullable(timestamp), sOld: timestamp, wallMs, regional: deps, ...service },
  },
  GossipDown: { tag: 32, fields: { ust: timestamp, sOld: timestamp, wallMs, regional: deps, ...service } },
  ClockReq: { tag: 51, fields: {} },
  ClockResp: { tag: 52, fields: { wallMs } },
  ReplayLog: { tag: 33, fields: { region: name, after: timestamp, upTo: timestamp } },
  ResyncRefused: { tag: 34, fields: { partition: uint, source: name, truncatedUpTo: timestamp } },
  JoinReq: { tag: 35, fields: {} },
  JoinResp: {
    tag: 36,
    fields: {
      joined: boolean,
      retiring: boolean,
      setAside: boolean,
      ust: timestamp,
      clocks: list(struct({ partition: uint, clock: timestamp })),
    },
  },
  CopyReq: { tag: 37, fields: copyReq },
  ReadCopy: {
    tag: 38,
    fields: { node: name, request: struct<CopyReq>({ type: oneOf('CopyReq'), ...copyReq }), vector },
  },
  CopyResp: {
    tag: 39,
    fields: {
      ref: count,
      part: uint,
      parts: uint,
      versions: list(listed),
      next: nullable(key),
      vector,
      gcFloor: timestamp,
    },
  },
  AcknowledgeLossesReq: { tag: 41, fields: { ref: uint, transactions: nullable(list(name, 10_000)) } },
  AcknowledgeLossesResp: { tag: 42, fields: { ref: uint, acknowledged: uint } },
};
