/** The log of a node that starts without data (D10). */
import type { Topology } from '@isochron/core';
import type { OperationNode, TransactionNode } from '@isochron/protocols';
import type { Logger } from 'pino';

/** Logs how the node recovers, and which partitions cannot. Ends when it has joined or `isClosing`. */
export function logRebuild(
  { rebuild, membership }: Pick<TransactionNode | OperationNode, 'rebuild' | 'membership'>,
  topology: Topology,
  logger: Logger,
  isClosing: () => boolean,
): void {
  logger.info('this node has no data of its own yet; it asks its peers');
  let reports = 0;
  const timer = setInterval(() => {
    const { lostPartitions, remaining, counters } = rebuild.describe();
    if (isClosing()) clearInterval(timer);
    else if (membership.joined && membership.settled) {
      clearInterval(timer);
      logger.info({ ...counters }, 'joined');
    } else if (membership.joined) {
      logger.info(
        'every node is asked which transactions lost a part with the disk; until all have answered, no writes',
      );
    } else if (lostPartitions.length > 0 && reports++ % 30 === 0) {
      const partitions = lostPartitions.map((id) => topology.partitions[id]!.name);
      logger.error(
        { partitions },
        'these partitions have no copy anywhere: restore a backup, or start with --accept-loss',
      );
    } else if (remaining !== null) logger.info({ ...counters, remaining: remaining.length }, 'fetching data');
  }, 1_000);
  timer.unref();
}
