/** What the options, the cluster file and the files of secrets and certificates make of a node. */
import { readFileSync } from 'node:fs';
import { IsochronError } from '@isochron/core';
import type { Logger } from 'pino';
import { AuthFile } from '../../auth/auth-file.js';
import { apiKeysFromEnv } from '../../auth/hook.js';
import { type ClusterConfig, parseClusterFile } from '../../config/cluster-file.js';
import { type Peering, peeringOf } from '../../config/peering.js';
import { loadSecrets, type Secrets } from '../../config/secret.js';
import { checkExposure, type Exposure } from '../../tls/exposure.js';
import { loadCertificates, type NodeCertificates } from '../../tls/flags.js';
import type { OwnOptions } from './options.js';

export interface NodeSettings {
  readonly config: ClusterConfig;
  readonly peering: Peering;
  readonly secrets: Secrets;
  readonly apiKeys: readonly string[];
  readonly auth: AuthFile | undefined;
  readonly certificates: NodeCertificates;
  /** URL of this node's API. */
  readonly api: string;
  /** Where the API listens. */
  readonly listen: ListenAddress;
  /** Whether callers need no credentials. */
  readonly isOpen: boolean;
}

/** Reads and checks everything that a node needs before its data. @throws IsochronError for what does not fit */
export function readSettings(options: OwnOptions, logger: Logger): NodeSettings {
  const config = parseClusterFile(readFileSync(options.config, 'utf8'), options.config);
  const { api } = nodeConfig(config, options);
  const peering = peeringOf(config, options.node, {
    // Environments often set a variable to an empty value instead of removing it.
    ...(options.peerListen ? { listen: options.peerListen } : {}),
    ...(options.peerDial === undefined ? {} : { dial: options.peerDial }),
  });
  const secrets = loadSecrets({ secretFile: options.secretFile });
  const apiKeys = apiKeysFromEnv(process.env);
  const isOpen = apiKeys.length === 0 && options.auth === undefined;
  const listen = listenAddress(api, options.apiHost);
  const insecure = new Set(options.insecure);
  const auth = options.auth === undefined ? undefined : new AuthFile(options.auth, logger);
  const certificates = loadCertificates(config, options.node, options, insecure.has('api'), logger);
  const { metricsPort, metricsHost } = options;
  const exposure: Exposure = {
    api: { host: listen.host, encrypted: certificates.api !== undefined, authenticated: !isOpen },
    peer: { host: peering.listen.host, encrypted: certificates.peer !== undefined },
    metrics: metricsPort === undefined ? undefined : { host: metricsHost },
  };
  checkExposure(exposure, insecure);
  return { config, peering, secrets, apiKeys, auth, certificates, api, listen, isOpen };
}

function nodeConfig(
  config: ClusterConfig,
  { node, config: file }: Pick<OwnOptions, 'node' | 'config'>,
): { readonly api: string } {
  const nodes = config.regions.flatMap((region) => region.nodes);
  const found = nodes.find(({ id }) => id === node);
  if (found !== undefined) return found;
  const known = nodes.map(({ id }) => id).join(', ');
  throw new IsochronError('CONFIG_INVALID', `${file} has no node "${node}"; it has ${known}`);
}

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** The address where the API of a URL listens: another host, where one is given. */
function listenAddress(api: string, apiHost: string | undefined): ListenAddress {
  const { hostname, port, protocol } = new URL(api);
  return {
    host: apiHost ?? hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || (protocol === 'https:' ? 443 : 80)),
  };
}
