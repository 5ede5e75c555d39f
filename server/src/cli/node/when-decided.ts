import { setTimeout as delay } from 'node:timers/promises';
import type { Timestamp } from '@isochron/core';
import type { RunningNode } from '../../node/api.js';

const POLL_MS = 5;

/**
 * Waits for a moment in which no replica of the node has a prepared transaction that is undecided, or a committed one
 * that is not applied and on disk: a node that stops then leaves no work behind. Resolves with the number of such
 * transactions, 0 unless it times out.
 */
export async function whenDecided(node: RunningNode, timeoutMs: number): Promise<number> {
  const deadline = performance.now() + timeoutMs;
  /**
   * The clock when no such transaction was left: all applied before is on disk once the version clocks have passed it.
   */
  let doneAt: Timestamp | undefined;
  for (;;) {
    const { partitions } = node.status();
    const left = partitions.reduce((sum, { prepared, committed }) => sum + prepared + committed, 0);
    if (left > 0) doneAt = undefined;
    else {
      doneAt ??= node.hlc();
      const clock = doneAt;
      if (partitions.every(({ versionVector }) => (versionVector[node.region] ?? clock) >= clock)) return 0;
    }
    if (performance.now() > deadline) return Math.max(left, 1);
    await delay(POLL_MS);
  }
}
