/** The certificates of a cluster: which there are, and for which names. */
import type { NodeId } from '@isochron/core';
import { nodeUri } from '@isochron/transport';
import type { ClusterConfig } from '../../config/cluster-file.js';
import { isLoopback } from '../../http/requests/origins.js';
import type { Request } from './authority.js';

/** A certificate, and the files that it is in: `NAME.pem` and `NAME-key.pem`. */
export interface PlannedCertificate {
  /** Relative to the folder of the certificates, without an ending. */
  readonly name: string;
  readonly request: Request;
}

/** Names under which a program on the same machine reaches a node. */
const LOOPBACK = ['localhost', '127.0.0.1', '::1'];

/** One certificate of the API, for these hosts. */
export const apiCertificate = (hosts: readonly string[]): PlannedCertificate[] => [
  { name: 'api', request: { commonName: hosts[0]!, hosts, uris: [], client: false } },
];

/** For each node one of the API, for its host and `hosts`, and one of its links. */
export function clusterCertificates(config: ClusterConfig, hosts: readonly string[]): PlannedCertificate[] {
  return config.regions.flatMap(({ nodes }) =>
    nodes.flatMap(({ id, api, peer }) => [
      { name: `${id}/api`, request: requestFor(id, [...hostsOf(api), ...hosts], []) },
      {
        name: `${id}/peer`,
        request: { ...requestFor(id, hostsOf(peer), [nodeUri(config.cluster, id)]), client: true },
      },
    ]),
  );
}

function requestFor(node: NodeId, hosts: readonly string[], uris: readonly string[]): Request {
  return { commonName: node, hosts: [...new Set(hosts)], uris, client: false };
}

function hostsOf(url: string): string[] {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
  return isLoopback(host) ? [...new Set([host, ...LOOPBACK])] : [host];
}
