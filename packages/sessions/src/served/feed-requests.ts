/**
 * The requests for changes: pages of the change feed, and what has changed in the scopes of a connection. They wait at
 * the feeds of the node, and end at once when the node is about to close.
 */
import { type Content, contentLength, IsochronError, type KeyWrite, type Timestamp, Update } from '@isochron/core';
import type { KeyChanges, Watch } from '@isochron/protocols';
import type { ChangesAnswerFrame, LiveAnswerFrame, WireContent } from '@isochron/wire/session-frames';
import { REQUEST_FRAMES as FRAMES } from '@isochron/wire/session-frames/requests';
import type { LiveAnswer } from '../coordinator/coordinator-port.js';
import { clientTxId } from '../coordinator/owned-ids.js';
import type { Done } from '../coordinator/request-port.js';
import { requireCapability } from '../requests/capabilities.js';
import {
  bytesIn,
  ChangeDocuments,
  type DocumentedPage,
  type DocumentedWrite,
  type DocumentThen,
} from '../requests/change-documents.js';
import { asIsochronError } from '../requests/errors.js';
import type { Answer, FrameEncoder } from './answers.js';
import { answered, checked, claimed, type Request, type TransactionRequests, withToken } from './requests.js';
import type { Reply } from './served-session.js';

/** An answer ends with the group of transactions that reaches this, in estimated bytes. */
const ANSWER_BYTES = 256 * 1024;

function changes(frame: Request<'changes'>, id: number, context: TransactionRequests, reply: Reply): void {
  requireCapability(context.node.protocol, 'changes', '"changes"');
  const { scope: prefix, waitMs } = frame;
  const after = frame.after === null ? null : claimed(context, frame.after, 'after');
  const limitBytes = frame.limitBytes ?? ANSWER_BYTES;
  const done = waits(context, reply, (page: DocumentedPage) => pageOf(page, id, context));
  if (done === undefined) return;
  const { coordinator } = context.parts;
  const documents = new ChangeDocuments(coordinator, context.node.rules.maxAnswerBytes);
  const wants = { values: frame.values === true, before: frame.before === true };
  coordinator.ask({ type: 'ChangesReq', prefix, after, waitMs, limitBytes }, (page) => {
    if (page instanceof IsochronError) done(page);
    else documents.add(page, wants, done);
  });
}

function pageOf({ from, to, transactions }: DocumentedPage, id: number, context: TransactionRequests): Answer {
  const token = context.sawChanges(from, to);
  return {
    bytes: transactions.reduce((sum, { writes }) => sum + bytesOf(writes), bytesIn(transactions)),
    encode: (encoder) => {
      const items = transactions.map(({ txId: tx, ct: ts, writes }) => ({
        tx: clientTxId(tx),
        ts,
        writes: writes.map((write) => wireWrite(write, encoder)),
      }));
      return encoder.frame(withToken({ type: 'changes', id, from, to, transactions: items }, token));
    },
  };
}

type WireWrite = ChangesAnswerFrame['transactions'][0]['writes'][0];

function wireWrite({ key, value, after, before }: DocumentedWrite, encoder: FrameEncoder<unknown>): WireWrite {
  const document = (then: Exclude<DocumentThen, 'gone'>) => then.document && encoder.value(then.document);
  return {
    key,
    value: wire(value, encoder),
    ...(after === 'gone' ? { afterGone: true } : after && { after: document(after) }),
    ...(before === 'gone' ? { beforeGone: true } : before && { before: document(before) }),
  };
}

function live(frame: Request<'live'>, id: number, context: TransactionRequests, reply: Reply): void {
  const { node, watches } = context;
  requireCapability(node.protocol, 'live-queries', '"live"');
  const after = claimed(context, frame.after, 'after');
  const remove = frame.remove ?? [];
  const done = waits(context, reply, (answer: LiveAnswer) => changesOf(answer, id, after, context));
  if (done === undefined) return;
  let add: Watch[];
  try {
    add = watches.change(remove, frame.add ?? [], node.rules);
  } catch (thrown) {
    done(asIsochronError(thrown));
    return;
  }
  const { reader } = watches;
  context.parts.coordinator.ask(
    { type: 'LiveReq', reader, after, add, remove, waitMs: frame.waitMs, limitBytes: ANSWER_BYTES },
    (result) => {
      if (result instanceof IsochronError && result.code === 'OVERLOADED') watches.clear();
      done(result);
    },
  );
}

function changesOf(
  { to, changes, ended }: LiveAnswer,
  id: number,
  after: Timestamp,
  context: TransactionRequests,
): Answer {
  const token = context.sawChanges(after, to);
  const keyChanges = ({ key, contents }: KeyChanges, encoder: FrameEncoder<unknown>): LiveAnswerFrame['changes'][0] => [
    key,
    contents.map(({ ct, txId, content }) => [ct, clientTxId(txId), wire(content, encoder)]),
  ];
  return {
    bytes: changes.reduce(
      (sum, { key, contents }) => sum + bytesOf(contents.map(({ content }) => ({ key, value: content }))),
      0,
    ),
    encode: (encoder) => {
      const all = changes.map((one) => keyChanges(one, encoder));
      const gone = ended?.map(({ watch, error }): [number, string, string] => [watch, error.code, error.message]);
      return encoder.frame(withToken({ type: 'live', id, to, changes: all, ...(gone && { ended: gone }) }, token));
    },
  };
}

/** A request that waits: counted as one, as long as the node stays; undefined if it is refused. */
function waits<R>(context: TransactionRequests, reply: Reply, answerOf: (result: R) => Answer): Done<R> | undefined {
  const { node, client, identity } = context;
  const ends = answered(reply, answerOf);
  context.waiting++;
  return identity.wait<R>(
    (done) => node.serving.feed(client, done),
    (result) => {
      context.waiting--;
      ends(result);
    },
  );
}

const bytesOf = (writes: readonly KeyWrite[]): number =>
  writes.reduce((sum, { key, value }) => sum + 64 + key.length + contentLength(value), 0);

const wire = (content: Content, encoder: FrameEncoder<unknown>): WireContent => {
  if (content === null) return null;
  return content instanceof Update ? { operations: content.operations } : encoder.value(content);
};

/** The requests for changes. */
export const FEED_REQUESTS = { changes: checked(FRAMES.changes, changes), live: checked(FRAMES.live, live) };
