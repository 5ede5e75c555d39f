/** Encoding and validation of the messages of single operations. */
import {
  count,
  type Kind,
  list,
  MalformedMessage,
  type MessageSchema,
  nullable,
  oneOf,
  optional,
  struct,
  timestamp,
  uint,
  value,
} from '@isochron/core';
import { dependencies, key, name, replicationSchema, version } from '../replication/schema.js';
import { transactionSchema } from '../transactions/schema.js';
import type { GetSliceReq, OperationMessage, PutSliceReq, Reader, RotSliceReq, Slice } from './messages.js';

const seen = list(timestamp, 1_000_000);
const keys = list(key, 100_000);
const nullableVersion = nullable(version);

const getSlice = { ref: count, partition: uint, key, seen };
const putSlice = {
  ref: count,
  partition: uint,
  txId: name,
  attempt: uint,
  sentAfter: timestamp,
  principal: name,
  key,
  value: nullable(value),
  seen,
  depends: dependencies,
};
const rotId = optional(name);
const rotSlice = { ref: count, partition: uint, snapshot: seen, keys, id: rotId };
/** It never leaves its node: who sends one is refused by the replica. */
const waiting = struct<{
  readonly get: GetSliceReq | null;
  readonly put: PutSliceReq | null;
  readonly rot: RotSliceReq | null;
}>({
  get: nullable(struct<GetSliceReq>({ type: oneOf('GetSliceReq'), ...getSlice })),
  put: nullable(struct<PutSliceReq>({ type: oneOf('PutSliceReq'), ...putSlice })),
  rot: nullable(struct<RotSliceReq>({ type: oneOf('RotSliceReq'), ...rotSlice })),
});
const slice: Kind<Slice> = {
  encode: (request) =>
    waiting.encode({
      get: request.type === 'GetSliceReq' ? request : null,
      put: request.type === 'PutSliceReq' ? request : null,
      rot: request.type === 'RotSliceReq' ? request : null,
    }),
  decode: (raw) => {
    const { get, put, rot } = waiting.decode(raw);
    const request = get ?? put ?? rot;
    if (request === null) throw new MalformedMessage('expected an operation');
    return request;
  },
};

/** Tags are for ever: 64–85 and 90–92 are these. */
export const operationSchema: MessageSchema<OperationMessage> = {
  ...replicationSchema,
  Refused: transactionSchema.Refused,
  GetReq: { tag: 64, fields: { ref: uint, key, seen, region: name } },
  GetResp: {
    tag: 65,
    fields: { ref: uint, version: nullableVersion, seen, ust: timestamp, depends: dependencies },
  },
  PutReq: {
    tag: 66,
    fields: {
      ref: uint,
      txId: name,
      key,
      value: nullable(value),
      seen,
      region: name,
      sentAfter: timestamp,
      attemptRegions: list(name, 16),
      principal: name,
      depends: dependencies,
    },
  },
  PutResp: {
    tag: 67,
    fields: { ref: uint, txId: name, ts: timestamp, seen, region: name, ust: timestamp, depends: dependencies },
  },
  RotReq: { tag: 68, fields: { ref: uint, keys, seen, region: name, id: rotId } },
  RotResp: {
    tag: 69,
    fields: { ref: uint, versions: list(nullableVersion), seen, ust: timestamp, depends: dependencies },
  },
  GetSliceReq: { tag: 70, fields: getSlice },
  GetSliceResp: { tag: 71, fields: { ref: count, version: nullableVersion, seen } },
  PutSliceReq: { tag: 72, fields: putSlice },
  PutSliceResp: { tag: 73, fields: { ref: count, ts: timestamp } },
  SettleReq: {
    tag: 74,
    fields: { ref: count, partition: uint, txId: name, attempt: uint, sentAfter: timestamp },
  },
  SettleResp: {
    tag: 75,
    fields: { ref: count, state: oneOf('committed', 'aborted', 'lost'), ts: timestamp },
  },
  SnapReq: { tag: 76, fields: { ref: count, partition: uint, seen } },
  SnapResp: { tag: 77, fields: { ref: count, snapshot: seen } },
  RotSliceReq: { tag: 78, fields: rotSlice },
  RotSliceResp: { tag: 79, fields: { ref: count, versions: list(nullableVersion) } },
  WaitedSlice: { tag: 80, fields: { node: name, request: slice, since: count } },
  DepCheckReq: { tag: 81, fields: { ref: count, partition: uint, needs: list(timestamp, 10_000) } },
  DepCheckResp: { tag: 82, fields: { ref: count } },
  AdmitUpdates: { tag: 83, fields: { source: name, upTo: timestamp, keys } },
  ReplicationAck: { tag: 84, fields: { partition: uint, region: name, upTo: timestamp } },
  ReplicationComplete: { tag: 85, fields: { partition: uint, region: name, upTo: timestamp } },
  ReadersCheckReq: {
    tag: 90,
    fields: { ref: count, partition: uint, keys, needs: list(timestamp, 1_000_000) },
  },
  ReadersCheckResp: { tag: 91, fields: { ref: count, readers: list(struct<Reader>({ id: name, at: timestamp })) } },
  RotVersionsReq: { tag: 92, fields: { ref: count, partition: uint, keys, wanted: list(list(timestamp, 100)) } },
};
