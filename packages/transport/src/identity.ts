/** The name of a node in its certificate. */
import type { NodeId } from '@isochron/core';

/** The URI that the certificate of a node names: nodes of another cluster, or another node, have another one. */
export const nodeUri = (cluster: string, node: NodeId): string => `isochron://${cluster}/node/${node}`;
