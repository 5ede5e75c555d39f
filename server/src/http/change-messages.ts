/** Messages of the change feed as JSON text (CF4). */
import { type KeyWrite, Update, unqualify } from '@isochron/core';
import type { ChangesResp } from '@isochron/protocols';
import { encodeChangesCursor, type Scope } from './changes-cursor.js';
import { base64 } from './reader.js';

/** A message, and the cursor behind it. */
export interface ChangesMessage {
  readonly text: string;
  readonly cursor: string;
}

/** `from` and `to` are timestamps: everything in the scope with `from < ct <= to`. */
export function changesMessage({ from, to, transactions }: ChangesResp, cluster: string, scope: Scope): ChangesMessage {
  const cursor = encodeChangesCursor(cluster, { ...scope, ts: to });
  const items = transactions.map(
    ({ txId, ct, writes }) => `{"id":"${txId}","timestamp":${ct},"writes":[${writes.map(writeText).join(',')}]}`,
  );
  return { text: `{"from":${from},"to":${to},"cursor":"${cursor}","transactions":[${items.join(',')}]}`, cursor };
}

function writeText({ key: qualified, value }: KeyWrite): string {
  const { keyspace, key } = unqualify(qualified);
  return `{"keyspace":"${keyspace}","key":${JSON.stringify(key)},${contentText(value)}}`;
}

/** As in the body of a commit. */
function contentText(value: KeyWrite['value']): string {
  if (value === null) return '"delete":true';
  if (value instanceof Update) return `"operations":${value.operations}`;
  return typeof value === 'string' ? `"value":${value}` : `"bytes":"${base64(value)}"`;
}
