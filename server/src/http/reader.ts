/** Reads for plain HTTP callers: the coordinator's answer with the session's own writes laid over it. */
import type { QualifiedKey, Timestamp, Value, Version } from '@isochron/core';
import { type Caller, overlay } from '../session/http-sessions.js';
import { answerBytes } from './answer-size.js';
import type { ApiContext } from './context.js';

/** What a caller sees. An own write that may not be stable yet has an empty `txId`. */
export interface Seen {
  readonly snapshot: Timestamp;
  readonly versions: readonly (Version | null)[];
}

/**
 * Reads keys in one snapshot. With `at` it is exactly that snapshot, without the session's later writes.
 * @throws IsochronError from the coordinator; `TOO_MANY_KEYS` where the values are too large for one answer
 */
export function readKeys(
  api: ApiContext,
  caller: Caller,
  keys: readonly QualifiedKey[],
  at: Timestamp | null,
): Promise<Seen> {
  const { kept } = caller;
  if (kept === undefined || at !== null) {
    const asked = { txId: null, ust: floorOf(caller, at), at, keys };
    return api.node.coordinator.read(asked).then((seen) => bounded(api, seen));
  }
  return readOverlaid(api, caller, kept, keys);
}

/** @throws IsochronError `TOO_MANY_KEYS` where the values are too large for one answer */
export function bounded<S extends Seen>(api: ApiContext, seen: S): S {
  answerBytes(seen.versions, api.rules.maxAnswerBytes);
  return seen;
}

async function readOverlaid(
  api: ApiContext,
  caller: Caller,
  kept: NonNullable<Caller['kept']>,
  keys: readonly QualifiedKey[],
): Promise<Seen> {
  kept.observe(api.node.ust());
  const tx = kept.paris.begin();
  try {
    const ust = Math.max(tx.floor, floorOf(caller, null));
    const answer = await api.node.coordinator.read({ txId: null, ust, at: null, keys });
    return bounded(api, { snapshot: answer.snapshot, versions: overlay(kept, tx, keys, answer) });
  } finally {
    kept.paris.end(tx);
  }
}

/** The stable time that a caller's snapshot must not fall below. A read of the past asks for no more than that past. */
export const floorOf = (caller: Caller, at: Timestamp | null): Timestamp =>
  at === null ? Math.max(caller.ust, caller.complete) : Math.min(caller.ust, at);

/** The fields of a value in a JSON answer. A document goes in as the text it was written as. */
export function valueFields(ts: Timestamp, value: Value): string {
  if (typeof value === 'string') return `"timestamp":${ts},"value":${value}`;
  return `"timestamp":${ts},"bytes":"${base64(value)}"`;
}

export const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

/** The body of a read's answer. */
export function readAnswerText({ snapshot, versions }: Seen): string {
  let text = `{"snapshot":${snapshot},"values":[`;
  for (let i = 0; i < versions.length; i++) {
    const version = versions[i];
    if (i > 0) text += ',';
    if (version == null || version.value === null) text += 'null';
    else text += `{${valueFields(version.ts, version.value)}}`;
  }
  return `${text}]}`;
}
