import type { NodeId } from '@isochron/core';
import type { LinkTuning } from '@isochron/transport';
import type { Logger } from 'pino';
import type { ClusterConfig } from '../config/cluster-file.js';
import type { Peering } from '../config/peering.js';
import type { Secrets } from '../config/secret.js';
import type { Certificates } from '../tls/certificates.js';
import type { OwnProtection } from './protection.js';

/** Options of a node; all nodes of the cluster share the secrets. */
export interface NodeOptions extends Secrets {
  readonly config: ClusterConfig;
  readonly node: NodeId;
  /** Folder of this node's data. */
  readonly dataDir: string;
  /** Where this node listens for its peers and dials them. */
  readonly peering: Peering;
  /** Certificates of the peering links; without them the links are not encrypted. Their owner closes them. */
  readonly peerCertificates?: Certificates | undefined;
  readonly logger: Logger;
  /** What guards the node, for its peers to compare; by default nothing. */
  readonly protection?: OwnProtection;
  /** Partitions without a copy on any node may come back empty (D10): an operator's one-time consent. */
  readonly acceptLoss?: boolean;
  /** The data may have timestamps in the future (K5): the node takes no writes, and clocks decide nothing. */
  readonly acceptFuture?: boolean;
  /** Bounds of unauthenticated connections to the peering port, where they differ from the default. */
  readonly peerLimits?: Partial<Pick<LinkTuning, 'maxStrangers' | 'maxStrangersPerAddress'>>;
  /** Milliseconds added to the wall clock, for experiments with a wrong clock. */
  readonly clockSkewMs?: number;
  /** Called on a fatal failure: a write failed or an invariant broke. No message has left since. */
  readonly onFailure: (error: unknown) => void;
}
