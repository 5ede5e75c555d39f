/**
 * The cluster file: regions with their nodes, keyspaces with their placement, settings that all nodes share. Options of
 * one node (secret, data directory, API keys, ports to bind) come from flags and environment instead.
 */
import type { ClusterSpec, KeyspaceSpec, Limits, NodeId, RegionId } from '@isochron/core';
import type { ProtocolName } from '@isochron/protocols/session-rules';
import { stringify } from 'yaml';
import { canonicalHash } from './canonical.js';
import { checkMeaning } from './checks.js';
import { type ClusterFile, ClusterFileSchema, DEFAULT_SETTINGS } from './schema.js';
import { readYaml } from './yaml-file.js';

export type { ClusterFile } from './schema.js';
export { MAX_FILE_LENGTH } from './yaml-file.js';

/** Settings that all nodes of a cluster share. Units are in the names. */
export interface ClusterSettings {
  /** Δ_R: how often replicas apply committed transactions and replicate them. */
  readonly applyIntervalMs: number;
  /** Δ_G: how often stabilisation gossips. */
  readonly gossipIntervalMs: number;
  readonly maxTransactionMs: number;
  /** How long old versions are kept for reads of the past. */
  readonly retentionMs: number;
  /** How long the outcome of a commit can be looked up (D5). */
  readonly outcomeRetentionMs: number;
  /** How long the change feed goes back, and over how many bytes of each partition (CF2). */
  readonly changeRetentionMs: number;
  readonly changeRetentionBytes: number;
  /** T1. Clients get half of it. */
  readonly maxClockDriftMs: number;
  readonly resolveAfterMs: number;
  readonly readTimeoutMs: number;
  readonly commitTimeoutMs: number;
  /** A restarted node that no peer replica of some partition has reported to by then continues unverified (D10). */
  readonly verifyTimeoutMs: number;
  /** After this time the other members go on without a node that does not answer (M3); 0: they wait for it. */
  readonly suspendAfterMs: number;
  /** Stable snapshots older than this are reported as stale (D11). */
  readonly stalenessAlertMs: number;
  /** Memory for the keys of one node; undefined: a share of its memory. */
  readonly cacheBytes: number | undefined;
  /**
   * Bytes that the data folder of one node may take; 0 for no quota. Above it, writes are refused with STORAGE_FULL
   * (D11).
   */
  readonly diskQuotaBytes: number;
  /** Bytes that must stay free on a node's disk, or writes are refused in the same way. */
  readonly minFreeDiskBytes: number;
  readonly durability: 'synced' | 'memory';
  readonly limits: Limits;
}

/** A node as the cluster file names it. */
export interface NodeConfig {
  readonly id: NodeId;
  /** URL of the HTTP and WebSocket API. */
  readonly api: string;
  /** URL of the peering links. */
  readonly peer: string;
}

export interface RegionConfig {
  readonly id: RegionId;
  readonly nodes: readonly NodeConfig[];
}

/** A valid cluster file with every default filled in. */
export interface ClusterConfig {
  readonly protocol: ProtocolName;
  /** Id of the cluster; sessions do not cross clusters. Derived from the placement when the file gives none. */
  readonly cluster: string;
  readonly regions: readonly RegionConfig[];
  readonly keyspaces: readonly KeyspaceSpec[];
  /** Keyspaces in which late writes take effect in the order of commits (F9). */
  readonly lateInOrder: readonly string[];
  readonly settings: ClusterSettings;
  /** Emulated one-way delays, by `from>to`; see {@link oneWayDelayMs}. */
  readonly wan: { readonly oneWayMs: Readonly<Record<string, number>> };
  /**
   * SHA-256 over the canonical JSON of the parts that must agree in the files of all nodes, in hex. Peers compare it.
   */
  readonly hash: string;
}

/**
 * Reads a cluster file.
 * @param filename only for messages
 * @throws IsochronError `CONFIG_INVALID`, with `file:line` and the reason
 */
export function parseClusterFile(text: string, filename: string): ClusterConfig {
  const { file, refuse } = readYaml(ClusterFileSchema, text, filename, 'a cluster file');
  return complete(file, checkMeaning(file, refuse));
}

function complete(file: ClusterFile, protocol: ProtocolName): ClusterConfig {
  const { limits, ...settings } = file.settings ?? {};
  const keyspaces = file.keyspaces.map(({ late: _, ...placed }) => placed);
  const contents = {
    protocol,
    cluster: file.cluster ?? `c-${canonicalHash({ regions: regionIds(file), keyspaces }).slice(0, 12)}`,
    regions: file.regions,
    keyspaces,
    lateInOrder: file.keyspaces.filter(({ late }) => late === 'order').map(({ name }) => name),
    settings: {
      ...DEFAULT_SETTINGS,
      ...settings,
      durability: settings.durability === 'memory' ? ('memory' as const) : ('synced' as const),
      limits: { ...DEFAULT_SETTINGS.limits, ...limits },
    },
    wan: { oneWayMs: bothDirections(file.wan?.oneWayMs ?? {}) },
  };
  return { ...contents, hash: canonicalHash(agreementOf(contents)) };
}

/**
 * The parts that must agree in the files of all nodes: the placement, and the settings of other nodes that a node
 * relies on. A node makes timestamps that the others must accept, asks them for outcomes as old as its own setting
 * promises, and leaves what a late write does to the node that commits it (F9). Everything else concerns the node alone
 * (limits, alerts, intervals, time-outs, memory, disk) or its addresses.
 */
const agreementOf = ({
  protocol,
  cluster,
  regions,
  keyspaces,
  lateInOrder,
  settings,
}: Omit<ClusterConfig, 'hash'>) => ({
  protocol,
  cluster,
  regions: regionIds({ regions }),
  keyspaces,
  // Absent where it is empty: such files have the hash of versions without late writes.
  lateInOrder: lateInOrder.length === 0 ? undefined : lateInOrder,
  settings: { maxClockDriftMs: settings.maxClockDriftMs, outcomeRetentionMs: settings.outcomeRetentionMs },
});

const regionIds = (file: Pick<ClusterConfig, 'regions'>) =>
  file.regions.map((region) => ({ id: region.id, nodes: region.nodes.map((node) => node.id) }));

function bothDirections(oneWayMs: Readonly<Record<string, number>>): Record<string, number> {
  const directed: Record<string, number> = {};
  for (const [pair, delay] of Object.entries(oneWayMs)) {
    const [a, b] = pair.split(/<?>/);
    directed[`${a}>${b}`] = delay;
    if (pair.includes('<>')) directed[`${b}>${a}`] = delay;
  }
  return directed;
}

/** The emulated one-way delay between two regions in ms, 0 when the file gives none. */
export const oneWayDelayMs = (config: ClusterConfig, from: RegionId, to: RegionId): number =>
  config.wan.oneWayMs[`${from}>${to}`] ?? 0;

/** The part of the configuration that decides where data lives. */
export const clusterSpec = (config: ClusterConfig): ClusterSpec => ({
  regions: config.regions.map((region) => ({ id: region.id, nodes: region.nodes.map(({ id }) => ({ id })) })),
  keyspaces: config.keyspaces,
});

/** The text of a cluster file, for `isochron dev`, as {@link parseClusterFile} reads it. */
export function writeClusterFile(file: ClusterFile): string {
  const header = [
    '# Isochron cluster file. Every node of the cluster runs with the same one.',
    '# regions: data centres with their nodes · keyspaces: named sets of partitions and where they are held',
    '# settings: optional, see the documentation · wan: optional delays between regions, for trying things out',
  ];
  return `${header.join('\n')}\n${stringify(file, { lineWidth: 120 })}`;
}
