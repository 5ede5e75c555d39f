/** The cluster of the API's tests: three nodes in memory, whose stable time a test moves by hand. */
import {
  type Content,
  compareVersions,
  type QualifiedKey,
  type StoredVersion,
  type Timestamp,
  Update,
} from '@isochron/core';
import type { ProtocolName } from '@isochron/protocols/session-rules';
import { MemoryCluster } from '@isochron/testing/nodes/memory-cluster';
import { MemoryNode } from '@isochron/testing/nodes/memory-node';
import { type ClusterConfig, clusterSpec, parseClusterFile } from '../src/config/cluster-file.js';

const FILE = `
protocol: paris
cluster: testing
regions:
  - id: virginia
    nodes:
      - { id: virginia-1, api: "http://127.0.0.1:7101", peer: "ws://127.0.0.1:7201" }
      - { id: virginia-2, api: "http://127.0.0.1:7102", peer: "ws://127.0.0.1:7202" }
  - id: oregon
    nodes:
      - { id: oregon-1, api: "http://127.0.0.1:7103", peer: "ws://127.0.0.1:7203" }
keyspaces:
  - { name: default, partitions: 4, replication: 2 }
  - { name: eu, partitions: 1, regions: [oregon] }
`;

/** The cluster file of the tests. Everything is replicated fully, unless the protocol is PaRiS. */
export const testConfig = (protocol: ProtocolName = 'paris'): ClusterConfig => {
  const file = FILE.replace('protocol: paris', `protocol: ${protocol}`);
  return parseClusterFile(protocol === 'paris' ? file : file.replace('[oregon]', '[virginia, oregon]'), 'testing.yaml');
};

/** A replica has applied a commit after this time. */
const APPLIED_MS = 100;

export class TestCluster extends MemoryCluster {
  constructor(readonly config: ClusterConfig = testConfig()) {
    super({ spec: clusterSpec(config), protocol: config.protocol, held: true });
    // The client that writes beside those of the test reaches the cluster here.
    new MemoryNode('virginia', this);
  }

  /** The stable time that every node is known to serve. */
  get served(): Timestamp {
    return this.family.stable('virginia-1').served;
  }

  /** Another client writes a key, and the replicas apply that. */
  put(key: QualifiedKey, value: Content): Timestamp {
    const ts = this.write({ [key]: value instanceof Update ? { operations: value.operations } : value });
    this.pass(APPLIED_MS);
    return ts;
  }

  /** Every node starts again: the coordinators lose their open transactions. */
  loseTransactions(): void {
    for (const node of this.family.world.topology.nodes) this.restart(node);
  }

  /** The versions of all keys, as the first replica of each has stored them once everything committed is applied. */
  stored(): ReadonlyMap<QualifiedKey, readonly StoredVersion[]> {
    this.pass(APPLIED_MS);
    const chains = this.family.world.topology.nodes.flatMap((node) => [...this.family.store(node).chains]);
    return new Map(
      chains
        .reverse()
        .map(([name, versions]) => [name.slice(name.indexOf('|') + 1), [...versions].sort(compareVersions)]),
    );
  }
}
