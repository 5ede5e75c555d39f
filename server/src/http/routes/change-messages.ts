/** Messages of the change feed as JSON text (CF4). */
import { type KeyWrite, Update, unqualify } from '@isochron/core';
import { clientTxId, type DocumentedPage, type DocumentedWrite, type DocumentThen } from '@isochron/sessions';
import { encodeChangesCursor, type FeedScope } from '../cursors/changes-cursor.js';
import { base64 } from '../one-shots/reader.js';

/** A message, and the cursor behind it. */
export interface ChangesMessage {
  readonly text: string;
  readonly cursor: string;
}

/** `from` and `to` are timestamps: everything in the scope with `from < ct <= to`. */
export function changesMessage(
  { from, to, transactions }: DocumentedPage,
  cluster: string,
  scope: FeedScope,
): ChangesMessage {
  const cursor = encodeChangesCursor(cluster, { ...scope, ts: to });
  const items = transactions.map(
    ({ txId, ct, writes }) =>
      `{"id":"${clientTxId(txId)}","timestamp":${ct},"writes":[${writes.map(writeText).join(',')}]}`,
  );
  const text = `{"from":${from},"to":${to},"cursor":"${cursor}","transactions":[${items.join(',')}]}`;
  return { text: onOneLine(text), cursor };
}

/** A line end outside of strings is white space, and inside of them it is escaped. */
const onOneLine = (json: string): string => json.replaceAll(/[\r\n]/g, ' ');

function writeText({ key: qualified, value, after, before }: DocumentedWrite): string {
  const { keyspace, key } = unqualify(qualified);
  return `{"keyspace":"${keyspace}","key":${JSON.stringify(key)},${contentText(value)}${thenText(after, AFTER)}${thenText(before, BEFORE)}}`;
}

/** The fields of a document of another time: JSON, bytes, or gone. */
const AFTER = { json: 'value', bytes: 'bytes', gone: 'valueGone' };
const BEFORE = { json: 'before', bytes: 'beforeBytes', gone: 'beforeGone' };

/** Nothing where there is no document. */
function thenText(then: DocumentThen | undefined, names: typeof AFTER): string {
  if (then === 'gone') return `,"${names.gone}":true`;
  if (then === undefined || then.document === null) return '';
  const { document } = then;
  return typeof document === 'string' ? `,"${names.json}":${document}` : `,"${names.bytes}":"${base64(document)}"`;
}

/** As in the body of a commit. */
function contentText(value: KeyWrite['value']): string {
  if (value === null) return '"delete":true';
  if (value instanceof Update) return `"operations":${value.operations}`;
  return typeof value === 'string' ? `"value":${value}` : `"bytes":"${base64(value)}"`;
}
