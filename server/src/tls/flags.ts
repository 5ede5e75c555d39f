/** The certificates that a node is started with, checked against the URLs of its cluster file. */
import { IsochronError, type NodeId } from '@isochron/core';
import { nodeUri } from '@isochron/transport';
import type { Logger } from 'pino';
import type { ClusterConfig } from '../config/cluster-file.js';
import type { CertificateFiles } from './certificate-files.js';
import { Certificates } from './certificates.js';

/** The options of `isochron node` that name files of certificates. */
export interface TlsFlags {
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly peerCert?: string;
  readonly peerKey?: string;
  readonly peerCa?: string;
}

/** The certificates of a node; undefined where a listener is without TLS. */
export interface NodeCertificates {
  readonly api: Certificates | undefined;
  readonly peer: Certificates | undefined;
}

/**
 * Loads the certificates that the options name.
 * @param proxied whether a proxy ends TLS for the API
 * @throws IsochronError `CONFIG_INVALID` for options that do not fit together or to the cluster file;
 * `CERTIFICATE_INVALID` for files that cannot be used
 */
export function loadCertificates(
  config: ClusterConfig,
  node: NodeId,
  flags: TlsFlags,
  proxied: boolean,
  logger: Logger,
): NodeCertificates {
  const { api, peer } = config.regions.flatMap(({ nodes }) => nodes).find(({ id }) => id === node)!;
  const [apiFiles, peerFiles] = [filesOf(apiFlags(flags)), filesOf(peerFlags(flags))];
  if (apiFiles !== undefined || !proxied) checkAgreement(node, 'api', api, apiFlags(flags));
  checkAgreement(node, 'peer', peer, peerFlags(flags));
  const uri = nodeUri(config.cluster, node);
  return {
    api: apiFiles && new Certificates('api', apiFiles, { now: Date.now }, logger),
    peer: peerFiles && new Certificates('peer', peerFiles, { now: Date.now, uri }, logger),
  };
}

/** Files by the options that name them. */
type Flags = Readonly<Record<string, string | undefined>>;

const apiFlags = ({ tlsCert, tlsKey }: TlsFlags): Flags => ({ '--tls-cert': tlsCert, '--tls-key': tlsKey });
const peerFlags = ({ peerCert, peerKey, peerCa }: TlsFlags): Flags => ({
  '--peer-cert': peerCert,
  '--peer-key': peerKey,
  '--peer-ca': peerCa,
});

/** All of the files, or none. */
function filesOf(flags: Flags): CertificateFiles | undefined {
  const names = Object.keys(flags);
  const given = names.filter((name) => flags[name] !== undefined);
  if (given.length === 0) return undefined;
  const missing = names.filter((name) => flags[name] === undefined);
  if (missing.length > 0) throw refusal(`with ${together(given)}, ${together(missing)} must be given, too`);
  const [cert, key, ca] = Object.values(flags);
  return { cert: cert!, key: key!, ...(ca === undefined ? {} : { ca }) };
}

/** An URL with TLS needs certificates, and certificates need an URL with TLS. */
function checkAgreement(node: NodeId, what: 'api' | 'peer', url: string, flags: Flags): void {
  const isSecure = /^(?:https|wss):/.test(url);
  const names = together(Object.keys(flags));
  const isGiven = Object.values(flags).some((file) => file !== undefined);
  if (isSecure === isGiven) return;
  const where = `the ${what} URL of ${node} in the cluster file is ${url}`;
  if (isGiven) throw refusal(`${where}: with ${names} it has to be ${what === 'api' ? 'https' : 'wss'}`);
  const instead = what === 'api' ? ', or --insecure api where a proxy ends TLS' : '';
  throw refusal(`${where}: give ${names}${instead}`);
}

const together = (names: readonly string[]): string =>
  names.length < 3 ? names.join(' and ') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

const refusal = (message: string): IsochronError => new IsochronError('CONFIG_INVALID', message);
