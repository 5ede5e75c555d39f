/** Reads for plain HTTP callers: the coordinator's answer with the session's own writes laid over it. */
import type { QualifiedKey, Timestamp, Value, Version } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import { answerBytes, type Caller, floorOf, snapshotOf, wanted } from '@isochron/sessions';
import type { FastifyRequest } from 'fastify';
import { answerTo } from '../../node/promised.js';
import type { ApiContext, TransactionsContext } from '../context.js';
import type { Shown } from './one-shots.js';

/** The values that a caller reads. An own write that may not be stable yet has an empty `txId`. */
export interface Seen {
  readonly snapshot: Snapshot;
  readonly versions: readonly (Version | null)[];
}

/**
 * Reads keys in one snapshot. With `at` it is exactly that snapshot, without the session's later writes.
 * @throws IsochronError from the coordinator; `TOO_MANY_KEYS` where the values are too large for one answer
 */
export function readKeys(
  api: TransactionsContext,
  request: FastifyRequest,
  caller: Caller,
  keys: readonly QualifiedKey[],
  at: Snapshot | null,
): Promise<Seen> {
  const { kept } = caller;
  if (kept === undefined || at !== null) {
    const asked = { type: 'ReadReq', txId: null, ...wanted(floorOf(api.sessions.rules, caller), at), keys } as const;
    return answerTo(api.coordinator(request, caller.hwt), asked).then((answer) =>
      bounded(api, { snapshot: snapshotOf(answer), versions: answer.versions }),
    );
  }
  return readOverlaid(api, request, caller, kept, keys);
}

/** @throws IsochronError `TOO_MANY_KEYS` where the values are too large for one answer */
export function bounded<S extends Pick<Seen, 'versions'>>(api: ApiContext, seen: S): S {
  answerBytes(seen.versions, api.rules.maxAnswerBytes);
  return seen;
}

async function readOverlaid(
  api: TransactionsContext,
  request: FastifyRequest,
  caller: Caller,
  kept: NonNullable<Caller['kept']>,
  keys: readonly QualifiedKey[],
): Promise<Seen> {
  const view = api.sessions.callers.view({ ...caller, kept });
  try {
    const coordinator = api.coordinator(request, kept.hwt);
    const answer = await answerTo(coordinator, { type: 'ReadReq', txId: null, ...wanted(view.floor, null), keys });
    const snapshot = snapshotOf(answer);
    return bounded(api, { snapshot, versions: view.over(keys, snapshot, answer.versions) });
  } finally {
    view.end();
  }
}

/** The fields of a value in a JSON answer. A document is inserted as its stored text. */
export const valueFields = (ts: Timestamp, value: Value): string => `"timestamp":${ts},${valueField(value)}`;

/** The field of a value in a JSON answer. */
export const valueField = (value: Value): string =>
  typeof value === 'string' ? `"value":${value}` : `"bytes":"${base64(value)}"`;

export const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

/** The body of a read's answer. */
export function readAnswerText({ snapshot, versions }: Pick<Shown, 'snapshot' | 'versions'>): string {
  let text = snapshot === undefined ? '{"values":[' : `{"snapshot":${snapshot},"values":[`;
  for (let i = 0; i < versions.length; i++) {
    const version = versions[i];
    if (i > 0) text += ',';
    if (version == null || version.value === null) text += 'null';
    else text += `{${valueFields(version.ts, version.value)}}`;
  }
  return `${text}]}`;
}
