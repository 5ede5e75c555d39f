/** What a node lets other machines reach. A port without protection listens on loopback, unless it is named. */
import { IsochronError } from '@isochron/core';
import { isLoopback } from '../http/requests/origins.js';

/** A port of a node. */
export const PORTS = ['api', 'peer', 'metrics'] as const;
export type Port = (typeof PORTS)[number];

/** The addresses of a node, and how they are protected. */
export interface Exposure {
  readonly api: { readonly host: string; readonly encrypted: boolean; readonly authenticated: boolean };
  readonly peer: { readonly host: string; readonly encrypted: boolean };
  /** Where the metrics listen; undefined where there are none. They have neither TLS nor keys. */
  readonly metrics: { readonly host: string } | undefined;
}

/**
 * Refuses a port that other machines reach without TLS, or an API that they reach without credentials.
 * @param insecure the ports for which the operator wants that
 * @throws IsochronError `CONFIG_INVALID`
 */
export function checkExposure({ api, peer, metrics }: Exposure, insecure: ReadonlySet<Port>): void {
  const demand = (port: Port, host: string, isProtected: boolean, what: string, remedy: string): void => {
    if (isProtected || isLoopback(host) || insecure.has(port)) return;
    const insecurely = `--insecure ${port}`;
    throw new IsochronError(
      'CONFIG_INVALID',
      `${what} on loopback only, not on ${host}: ${remedy}, or ${insecurely} if nothing else reaches it`,
    );
  };
  const keyless = 'without keys the API listens';
  demand('api', api.host, api.authenticated, keyless, 'give --auth, set ISOCHRON_API_KEYS, listen on 127.0.0.1');
  demand('api', api.host, api.encrypted, 'without TLS the API listens', 'give --tls-cert and --tls-key');
  const plain = 'without TLS a node listens for its peers';
  demand('peer', peer.host, peer.encrypted, plain, 'give --peer-cert, --peer-key and --peer-ca');
  if (metrics !== undefined) demand('metrics', metrics.host, false, 'metrics listen', 'use --metrics-host 127.0.0.1');
}
