/** The data that load generators need of a cluster: its file, its keys, its connections. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type QualifiedKey, Topology, unqualify } from '@isochron/core';
import { connect, type IsochronClient } from '@isochron/sdk';
import { clusterSpec, parseClusterFile } from '@isochron/server';
import { KeyTable } from '@isochron/workload';
import { WebSocket } from 'ws';
import { tokenFor } from '../users.js';

/** A cluster as its file describes it. */
export interface LoadedCluster {
  readonly topology: Topology;
  /** The URLs of the nodes of a region. */
  endpoints(region: string): readonly string[];
  /** A session with a node of the region: on a socket that the sessions of this process share, or on its own. */
  connect(region: string, own?: boolean): Promise<IsochronClient>;
  table(keysPerPartition: number): KeyTable;
}

const clusters = new Map<string, LoadedCluster>();

/** Read once: finding the keys of a table takes a while. */
export function loadCluster(configFile: string): LoadedCluster {
  const loaded = clusters.get(configFile) ?? readCluster(configFile);
  clusters.set(configFile, loaded);
  return loaded;
}

function readCluster(configFile: string): LoadedCluster {
  const config = parseClusterFile(readFileSync(configFile, 'utf8'), configFile);
  const topology = Topology.of(clusterSpec(config));
  const endpoints = new Map(config.regions.map(({ id, nodes }) => [id, nodes.map(({ api }) => api)]));
  const tables = new Map<number, KeyTable>();
  const caFile = join(dirname(configFile), 'certs/ca.pem');
  const trusted = existsSync(caFile) ? { ca: readFileSync(caFile, 'utf8') } : {};
  const credentials = tokenFor(configFile);
  const known = credentials === undefined ? trusted : { ...trusted, credentials };
  return {
    topology,
    endpoints: (region) => endpoints.get(region) ?? [],
    connect: (region, own = false) =>
      connect({ endpoints: endpoints.get(region) ?? [], ...(own ? { WebSocket } : {}), ...known }),
    table: (keysPerPartition) => {
      const table = tables.get(keysPerPartition) ?? new KeyTable(topology, keysPerPartition);
      tables.set(keysPerPartition, table);
      return table;
    },
  };
}

/** A key without its keyspace, the form of the SDK. */
export const plain = (key: QualifiedKey): string => unqualify(key).key;

/** The keys, without their keyspace, of the partitions that a region hosts. */
export function hostedKeys(topology: Topology, table: KeyTable, region: string): string[] {
  const hosted = table.partitions.filter(({ id }) => topology.replicaNode(id, region) !== undefined);
  return hosted.flatMap(({ id }) => table.keysOf(id).map(plain));
}
