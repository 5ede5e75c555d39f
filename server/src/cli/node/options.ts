import type { NodeId } from '@isochron/core';
import type { NodeLimits } from '../../http/limits/limits.js';
import type { Port } from '../../tls/exposure.js';
import type { TlsFlags } from '../../tls/flags.js';

/** Stands for the node's id in the values of options. */
export const NODE_NAME = '{node}';

/** Options of `isochron node`. */
export interface NodeOptions extends TlsFlags {
  readonly config: string;
  /** The nodes of this machine: a single node in this process, or several nodes as processes of their own. */
  readonly node: readonly string[];
  readonly data?: string;
  readonly secretFile?: string;
  /** File of issuers and API keys. */
  readonly auth?: string;
  /** File of the audit. */
  readonly auditLog?: string;
  readonly metricsPort?: number;
  /** Address that the metrics listen on; default loopback. */
  readonly metricsHost: string;
  readonly apiHost?: string;
  readonly corsOrigin?: readonly string[];
  readonly allowHost?: readonly string[];
  /** File of access rules. */
  readonly rules?: string;
  readonly limit?: Partial<NodeLimits>;
  readonly peerListen?: string;
  /** URLs at which peers are dialled, by node. */
  readonly peerDial?: Readonly<Record<NodeId, string>>;
  /** Partitions without a copy on any node come back empty. */
  readonly acceptLoss: boolean;
  /** The data have timestamps in the future: the node takes no writes. */
  readonly acceptFutureTimestamps: boolean;
  readonly clockSkewMs: number;
  /** The ports that other machines may reach without TLS or credentials. */
  readonly insecure?: readonly Port[];
  readonly logLevel: string;
}

/** The options of one node, with its id in their values. */
export type OwnOptions = Omit<NodeOptions, 'node'> & { readonly node: NodeId };

/** What the options are for one of their nodes. */
export function optionsOf(options: NodeOptions, node: NodeId): OwnOptions {
  const named = Object.entries(options).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'string' ? value.replaceAll(NODE_NAME, node) : value,
  ]);
  return { ...(Object.fromEntries(named) as NodeOptions), node };
}
