/** The session tokens of a cluster, from its cluster file. */
import { Topology } from '@isochron/core';
import { OperationTokens, SessionTokens, SnapshotChecks, type TokenCluster } from '@isochron/sessions';
import { canonicalJson } from '../config/canonical.js';
import { type ClusterConfig, clusterSpec } from '../config/cluster-file.js';
import type { Secrets } from '../config/secret.js';
import { servedTransactions } from '../node/protocols.js';

/** @param map version of the map that the node has adopted */
export const sessionTokens = (secrets: Secrets, config: ClusterConfig, map?: () => number): SessionTokens =>
  new SessionTokens(
    tokenCluster(secrets, config),
    servedTransactions(config.protocol).rules,
    snapshotChecks(config),
    map,
  );

export const operationTokens = (secrets: Secrets, config: ClusterConfig): OperationTokens =>
  new OperationTokens(tokenCluster(secrets, config));

/** The checks of snapshots under a protocol with transactions. */
export const snapshotChecks = (config: ClusterConfig): SnapshotChecks =>
  new SnapshotChecks(servedTransactions(config.protocol).entries(Topology.of(clusterSpec(config))));

function tokenCluster({ secret, secondSecret }: Secrets, config: ClusterConfig): TokenCluster {
  const { cluster, protocol, keyspaces } = config;
  const regions = config.regions.map(({ id, nodes }) => ({ id, nodes: nodes.map((node) => node.id) }));
  return { secret, secondSecret, protocol, identity: canonicalJson({ cluster, regions, keyspaces }) };
}
