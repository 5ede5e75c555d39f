import type { NodeId } from '@isochron/core';
import type { LinkTuning } from '@isochron/transport';
import type { Logger } from 'pino';
import type { ClusterConfig } from '../config/cluster-file.js';
import type { Peering } from '../config/peering.js';
import type { Secrets } from '../config/secret.js';

/** What a node is opened with; the secrets are those that all nodes of the cluster share. */
export interface NodeOptions extends Secrets {
  readonly config: ClusterConfig;
  readonly node: NodeId;
  /** Folder of this node's data. */
  readonly dataDir: string;
  /** Where this node listens for its peers and dials them. */
  readonly peering: Peering;
  readonly logger: Logger;
  /** Partitions that no node has a copy of any more may come back empty (D10): an operator's word, given once. */
  readonly acceptLoss?: boolean;
  /** The data may be of the future (K5): nothing new is written, and clocks decide nothing. */
  readonly acceptFuture?: boolean;
  /** Bounds of connections to the peering port that have not proved themselves, where they are not the default. */
  readonly peerLimits?: Partial<Pick<LinkTuning, 'maxStrangers' | 'maxStrangersPerAddress'>>;
  /** Milliseconds added to the wall clock, to try out what a wrong clock does. */
  readonly clockSkewMs?: number;
  /** The node cannot go on: a write failed or an invariant broke. Nothing has left since. */
  readonly onFailure: (error: unknown) => void;
}
