/**
 * The addresses where one node listens for its peers and dials them: those of the cluster file, or its operator's, for
 * a node behind an address translation, a proxy or a container's own network. They belong to one node, and are not in
 * the cluster file.
 */
import { IsochronError, type NodeId } from '@isochron/core';
import { dials, type PeerAddress, parsePeerUrl } from '@isochron/transport';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { ClusterConfig } from './cluster-file.js';

const PeeringSchema = Type.Object(
  {
    listen: Type.Optional(
      Type.String({
        pattern: '^([^\\s:/?#@]+|\\[[0-9a-fA-F:.]+\\]):\\d{1,5}$',
        description: 'host:port, such as 0.0.0.0:7201',
      }),
    ),
    dial: Type.Optional(
      Type.Record(
        Type.String(),
        Type.String({
          pattern: '^wss?://([^\\s:/?#@]+|\\[[0-9a-fA-F:.]+\\]):\\d{1,5}$',
          description: 'ws://host:port or wss://host:port, such as ws://10.0.0.7:7201',
        }),
      ),
    ),
  },
  { additionalProperties: false },
);

/** The operator's options for the peering links of one node. */
export type PeeringOptions = Static<typeof PeeringSchema>;

/** Addresses in the transport's form. */
export interface Peering {
  readonly listen: { readonly host: string; readonly port: number };
  readonly peers: readonly PeerAddress[];
}

/**
 * Addresses of a node's peering links.
 * @param node a node of the cluster file
 * @throws IsochronError `CONFIG_INVALID` for a malformed address, a node that the file does not name, or one that this
 * node never dials
 */
export function peeringOf(config: ClusterConfig, node: NodeId, options: PeeringOptions = {}): Peering {
  checkShape(options);
  const nodes = config.regions.flatMap((region) => region.nodes);
  for (const [peer, url] of Object.entries(options.dial ?? {})) {
    checkDialled(peer, node, nodes);
    parsePeerUrl(url); // refuses a port out of range
    const scheme = new URL(nodes[0]!.peer).protocol;
    if (!url.startsWith(scheme)) throw refusal(`the address to dial ${peer} at is ${url}: it has to be ${scheme}//`);
  }
  const own = nodes.find(({ id }) => id === node)!;
  return {
    listen: parsePeerUrl(options.listen === undefined ? own.peer : `ws://${options.listen}`),
    peers: nodes.filter((peer) => peer !== own).map(({ id, peer }) => ({ node: id, url: options.dial?.[id] ?? peer })),
  };
}

function checkShape(options: PeeringOptions): void {
  const error = Value.Errors(PeeringSchema, options).First();
  if (error === undefined) return;
  const [, field, peer] = error.path.split('/');
  const what = peer === undefined ? `peer ${field} address` : `address to dial ${peer} at`;
  throw refusal(`the ${what} is not valid: "${String(error.value)}"; expected ${error.schema.description}`);
}

function checkDialled(peer: NodeId, self: NodeId, nodes: ClusterConfig['regions'][number]['nodes']): void {
  if (!nodes.some(({ id }) => id === peer)) {
    throw refusal(`there is no node "${peer}" to dial; the cluster file has ${nodes.map(({ id }) => id).join(', ')}`);
  }
  if (peer === self) throw refusal(`${self} does not dial itself`);
  if (!dials(self, peer)) throw refusal(`${self} does not dial ${peer}: of two nodes the one with the lower id dials`);
}

const refusal = (message: string): IsochronError => new IsochronError('CONFIG_INVALID', message);
