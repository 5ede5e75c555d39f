/** The nodes and files of a development cluster, as a pure function of its options. */
import { join } from 'node:path';
import { Topology } from '@isochron/core';
import type { ProtocolName } from '@isochron/protocols/session-rules';
import type { ClusterFile } from '../../config/cluster-file.js';
import { servedProtocol } from '../../node/protocols.js';
import { UsageError } from '../failures.js';
import { awsOneWayMs } from './wan.js';

/** Options of `isochron dev`. */
export interface DevOptions {
  readonly regions: readonly string[];
  readonly nodesPerRegion: number;
  readonly partitions: number;
  /** Default: 2, or all regions where the protocol requires full replication. */
  readonly replication?: number;
  readonly wan: 'aws' | 'none';
  readonly protocol: ProtocolName;
  /** Folder of all data. */
  readonly data: string;
  readonly portBase: number;
  readonly durability: 'synced' | 'memory';
  /** Whether API and links are served over TLS. */
  readonly tls: boolean;
  /** Uses the existing cluster file, and writes none. */
  readonly keepConfig: boolean;
  readonly logLevel: string;
  readonly json: boolean;
}

/** Distance between the ports of the API, of peering and of metrics; also the most nodes that fit. */
export const PORT_STEP = 100;

/** One node of the cluster, with its addresses. */
export interface PlannedNode {
  readonly id: string;
  readonly region: string;
  readonly api: string;
  readonly metrics: string;
  readonly metricsPort: number;
  /** Every port that the node listens on. */
  readonly ports: readonly number[];
  readonly dataDir: string;
  readonly logFile: string;
  /** Whether its API, and whether its links are served over TLS. */
  readonly tls: { readonly api: boolean; readonly peer: boolean };
  /** File with the authority of its certificates, which clients accept. */
  readonly ca: string;
}

const HOST = '127.0.0.1';

/** Checks that options fit together, which the shape of the cluster file cannot express. @throws UsageError */
function checkOptions(options: DevOptions): void {
  const { regions, replication, nodesPerRegion, portBase } = options;
  if (replication !== undefined && replication > regions.length) {
    throw new UsageError(`--replication ${replication} is above the number of regions, ${regions.length}`);
  }
  const nodes = regions.length * nodesPerRegion;
  if (nodes > PORT_STEP)
    throw new UsageError(`${nodes} nodes are more than the ${PORT_STEP} that ports are set aside for`);
  if (portBase + 2 * PORT_STEP + nodes > 65_536) {
    throw new UsageError(
      `--port-base ${portBase} leaves no room: ports up to ${portBase + 2 * PORT_STEP + nodes - 1} are needed`,
    );
  }
}

/** The cluster file for the options. @throws UsageError for options that do not fit together */
export function devClusterFile(options: DevOptions): ClusterFile {
  checkOptions(options);
  const { regions, nodesPerRegion, portBase } = options;
  const oneWayMs = options.wan === 'aws' ? awsOneWayMs(regions) : undefined;
  const file = {
    protocol: options.protocol,
    regions: regions.map((id, r) => ({
      id,
      nodes: Array.from({ length: nodesPerRegion }, (_, n) =>
        devNode(`${id}-${n + 1}`, portBase + r * nodesPerRegion + n, options.tls ? 's' : ''),
      ),
    })),
  };
  const keyspace = { name: 'default', partitions: options.partitions };
  return {
    ...file,
    keyspaces: [{ ...keyspace, replication: options.replication ?? defaultReplication(file, keyspace) }],
    ...(options.durability === 'synced' ? {} : { settings: { durability: options.durability } }),
    ...(oneWayMs === undefined ? {} : { wan: { oneWayMs } }),
  };
}

/** Two regions, where the protocol allows that and there are as many. */
function defaultReplication(
  { protocol, regions }: { protocol: ProtocolName; regions: ClusterFile['regions'] },
  keyspace: { name: string; partitions: number },
): number {
  const keyspaces = [{ ...keyspace, replication: Math.min(2, regions.length) }];
  const partial = Topology.of({ regions, keyspaces });
  return servedProtocol(protocol).unsupported(partial) === undefined ? keyspaces[0]!.replication : regions.length;
}

const devNode = (id: string, port: number, s: '' | 's') => ({
  id,
  api: `http${s}://${HOST}:${port}`,
  peer: `ws${s}://${HOST}:${port + PORT_STEP}`,
});

/** The part of a cluster file that the plan depends on: regions and nodes. */
interface Regions {
  readonly regions: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly id: string; readonly api: string; readonly peer: string }[];
  }[];
}

/** Every node of a cluster with its ports and files. */
export function planNodes({ regions }: Regions, options: Pick<DevOptions, 'data' | 'portBase'>): PlannedNode[] {
  const nodes = regions.flatMap((region) => region.nodes.map((node) => ({ ...node, region: region.id })));
  return nodes.map(({ id, region, api, peer }, index) => {
    const metricsPort = options.portBase + 2 * PORT_STEP + index;
    return {
      id,
      region,
      api,
      metrics: `http://${HOST}:${metricsPort}/metrics`,
      metricsPort,
      ports: [portOf(api), portOf(peer), metricsPort],
      dataDir: join(options.data, id),
      logFile: join(options.data, id, 'node.log'),
      tls: { api: api.startsWith('https:'), peer: peer.startsWith('wss:') },
      ca: join(certificatesIn(options.data), 'ca.pem'),
    };
  });
}

/** Folder of the certificates of a development cluster. */
export const certificatesIn = (data: string): string => join(data, 'certs');

const portOf = (url: string): number => Number(new URL(url).port);
