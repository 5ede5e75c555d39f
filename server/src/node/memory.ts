/** The memory of a node's process, and what of it the keys take. */
import { totalmem } from 'node:os';
import type { NodeId } from '@isochron/core';
import type { ClusterConfig } from '../config/cluster-file.js';
import { MAX_CACHE_BYTES } from '../config/schema.js';

/** Of the memory that a process may use: the rest is for its heap, its buffers, LevelDB, and the system's cache. */
const CACHE_SHARE = 1 / 4;
const LEAST_CACHE_BYTES = 64 * 2 ** 20;

/** Memory that a process may use, in bytes. */
export interface ProcessMemory {
  /** Limit of the control group (cgroup v2 or v1); undefined without a limit. */
  readonly container: number | undefined;
  readonly machine: number;
}

/** The memory of this process. Without a limit, systems report none, or one above all memory. */
export function processMemory(): ProcessMemory {
  const machine = totalmem();
  const container = process.constrainedMemory() ?? 0;
  return { machine, container: container > 0 && container < machine ? container : undefined };
}

/**
 * Bytes of memory for a node. Nodes that listen for their peers at the same host share the memory of a machine, or of a
 * container.
 */
export function memoryOf(config: ClusterConfig, node: NodeId, { container, machine }: ProcessMemory): number {
  const nodes = config.regions.flatMap((region) => region.nodes);
  const hostOf = ({ peer }: { readonly peer: string }) => new URL(peer).hostname;
  const own = hostOf(nodes.find(({ id }) => id === node)!);
  return (container ?? machine) / nodes.filter((other) => hostOf(other) === own).length;
}

/** Bytes for the keys of a node: the limit in its cluster file, or a share of its memory. */
export function cacheBytesOf(config: ClusterConfig, node: NodeId, memory: ProcessMemory): number {
  const share = Math.floor(memoryOf(config, node, memory) * CACHE_SHARE);
  return config.settings.cacheBytes ?? Math.min(MAX_CACHE_BYTES, Math.max(LEAST_CACHE_BYTES, share));
}
