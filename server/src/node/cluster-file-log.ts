import type { NodeId } from '@isochron/core';
import type { LinkStatus } from '@isochron/transport';
import type { Logger } from 'pino';

/** How often the links are checked, ms. */
const INTERVAL_MS = 1_000;

/** The nodes that do not link because their cluster file differs from this node's in the parts that must agree. */
export const differingNodes = (links: readonly Pick<LinkStatus, 'node' | 'up' | 'lastError'>[]): NodeId[] =>
  links.filter(({ up, lastError }) => !up && lastError?.code === 'PEER_CONFIG_MISMATCH').map(({ node }) => node);

/**
 * Logs the nodes with another cluster file, whenever they change.
 * @returns a function that stops it
 */
export function reportDifferences(hash: string, differing: () => readonly NodeId[], logger: Logger): () => void {
  let reported = '';
  const timer = setInterval(() => {
    const nodes = differing();
    if (nodes.join() === reported) return;
    reported = nodes.join();
    if (nodes.length === 0) logger.info({ hash }, 'the cluster files of all nodes agree in all parts that must agree');
    else {
      const advice = 'give all nodes the same protocol, cluster id, regions, nodes and keyspaces, and of the settings';
      logger.error(
        { nodes, hash },
        `no links to nodes with another cluster file: ${advice} maxClockDriftMs and outcomeRetentionMs`,
      );
    }
  }, INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
