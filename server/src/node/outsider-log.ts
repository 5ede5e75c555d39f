/** Logs nodes that send messages about transactions in which they have no part (D12). */
import type { NodeId } from '@isochron/core';
import type { OutsidersMessage } from '@isochron/protocols';
import type { Logger } from 'pino';

/** At most one line for each node in this time, with the number of messages since the line before. */
const LINE_EVERY_MS = 10_000;

/** @param now a monotonic clock, ms */
export function outsiderLogger(
  logger: Pick<Logger, 'warn'>,
  now = () => performance.now(),
): (message: OutsidersMessage) => void {
  const lines = new Map<NodeId, { readonly at: number; count: number }>();
  return ({ type, from, txId, partition }) => {
    const last = lines.get(from);
    const count = (last?.count ?? 0) + 1;
    if (last !== undefined && now() - last.at < LINE_EVERY_MS) {
      last.count = count;
      return;
    }
    lines.set(from, { at: now(), count: 0 });
    const fields = { from, type, transaction: txId, partition, count };
    logger.warn(fields, 'ignored a message about a transaction in which the sender has no part');
  };
}
