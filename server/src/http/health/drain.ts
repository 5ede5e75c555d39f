/** How a node lets its users leave before it closes. */
import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { SessionHub } from '../../ws/session-route.js';
import type { Connections } from '../connections/connections.js';
import type { ApiContext } from '../context.js';

/** Longest times, in ms. Each step ends as soon as it is done. */
export interface DrainBounds {
  /** For sessions to find another node. Those that stay are cut off after it. */
  readonly sessionsMs: number;
  /** For connections of HTTP, on which requests may have begun. All that are left are cut off after it. */
  readonly requestsMs: number;
  /** For writes of HTTP sessions to become stable, before their caches go to another node. */
  readonly stableMs: number;
}

export const DEFAULT_DRAIN_BOUNDS: DrainBounds = { sessionsMs: 5000, requestsMs: 3000, stableMs: 500 };

/** How often idle HTTP connections are closed meanwhile, ms. */
const POLL_MS = 10;

interface DrainParts {
  readonly api: ApiContext;
  /** Hands the caches that this node keeps for callers to another node. */
  readonly handOver: (waitMs: number) => Promise<object>;
  readonly hub: SessionHub;
  readonly server: Server;
  readonly connections: Connections;
}

/**
 * Lets users leave, step by step:
 *
 * 1. The node is not ready any more, and takes no new sessions. Its sessions are sent elsewhere, and served until they
 * leave.
 * 2. New HTTP requests are refused, with `Retry-After`; those that have begun are answered, open transactions among
 * them.
 * 3. Caches of HTTP sessions with unstable writes go to another node (D13).
 */
export async function drain(parts: DrainParts, bounds: Partial<DrainBounds> = {}): Promise<void> {
  const { api, handOver, hub, connections } = parts;
  const { sessionsMs, requestsMs, stableMs } = { ...DEFAULT_DRAIN_BOUNDS, ...bounds };
  const { serving, log } = api;
  serving.leave();
  await hub.leave(sessionsMs);
  if (hub.size > 0) log.warn({ sessions: hub.size }, 'some sessions do not leave and are cut off');
  serving.refuse();
  hub.close();
  if (!(await connectionsEnded(parts, requestsMs)))
    log.warn(connections.counts(), 'some connections do not end in time and are cut off');
  connections.destroyAll();
  const handedOver = await handOver(stableMs);
  log.info(handedOver, 'drained');
}

/** Closes connections as they become idle. Resolves with whether all have closed. */
async function connectionsEnded({ server, connections }: DrainParts, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    server.closeIdleConnections();
    if (connections.size === 0) return true;
    if (performance.now() > deadline) return false;
    await delay(POLL_MS);
  }
}
