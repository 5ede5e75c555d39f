/** Bounds of what callers may use of a node. `isochron node --limit NAME=NUMBER` sets each of them. */
import { getHeapStatistics } from 'node:v8';
import { DEFAULT_SERVING_LIMITS } from '@isochron/sessions/served/serving-limits';
import { processMemory } from '../../node/memory.js';

/** Requests are refused above this share of the available memory: before the heap is exhausted. */
const MEMORY_SHARE = 0.9;

/**
 * Every limit with its default. Limits per client are those of a principal, or of an address where callers need no key.
 */
export const DEFAULT_NODE_LIMITS = {
  /** Connections to the API, those of sessions among them, in all and for each address. */
  connections: 8192,
  connectionsPerAddress: 4096,
  /** Connections to the port of the metrics. */
  metricsConnections: 256,
  /** Session connections without a hello; together they may send at most 256 MiB. */
  strangers: 1024,
  strangersPerAddress: 256,
  /** Bytes that each of them may send: a hello, with its credentials and token. */
  strangerBytes: 256 * 1024,
  /** Bytes of bodies of requests that are being received or served. */
  bodyBytes: 256 * 2 ** 20,
  bodyBytesPerAddress: 128 * 2 ** 20,
  /** Bytes of answers that wait to be read, over all connections. */
  unsentBytes: 256 * 2 ** 20,
  /** How long a caller may take for its headers, for a whole request, and without reading its answers, ms. */
  headersMs: 10_000,
  requestMs: 60_000,
  stalledMs: 20_000,
  /** How long the client of a session may leave a ping unanswered, ms. */
  silentMs: 30_000,
  /** Wrong or missing credentials that come from an address in a minute. */
  failedAuthenticationsPerMinutePerAddress: 600,
  /** WebSocket pings that a session connection may send in a second. */
  pingsPerSecond: 20,
  ...DEFAULT_SERVING_LIMITS,
  /** Connections to the peering port that are not authenticated yet. */
  peerStrangers: 128,
  peerStrangersPerAddress: 16,
  /** Above these, requests are refused with `OVERLOADED`; `rssBytes` 0: no limit, as without a container. */
  heapBytes: Math.floor(MEMORY_SHARE * getHeapStatistics().heap_size_limit),
  rssBytes: Math.floor(MEMORY_SHARE * (processMemory().container ?? 0)),
  eventLoopDelayMs: 2000,
};

export type NodeLimits = Readonly<typeof DEFAULT_NODE_LIMITS>;
export type LimitName = keyof NodeLimits;

/** Whether there is a limit of this name. */
export const isLimit = (name: string): name is LimitName => Object.hasOwn(DEFAULT_NODE_LIMITS, name);
