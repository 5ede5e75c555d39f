/** Shorthands of the claims about single operations. */
import type { NodeId, Value } from '@isochron/core';
import type { OperationMessage } from '@isochron/protocols/kernel/operations/messages';
import type { OperationProtocol } from '@isochron/protocols/kernel/operations/protocol';
import { OperationClient, OperationWorld, REGIONS } from './operation-world.js';
import type { WorldOptions } from './world-of.js';

/** The nodes of a world with one in each region. */
export const NODES = REGIONS.map((region) => `${region}-1`);

/** A world whose nodes have met. */
export function settledWorld(protocol: OperationProtocol, options: WorldOptions = {}): OperationWorld {
  const world = new OperationWorld(protocol, options);
  world.run(300);
  return world;
}

/** The values that new clients of every region get. */
export const everywhere = (world: OperationWorld, key: string): (Value | null)[] =>
  NODES.map((node) => new OperationClient(world, node).get(key));

/** The code that a request is refused with. */
export const refusal = (world: OperationWorld, node: NodeId, request: Parameters<OperationWorld['ask']>[1]): string =>
  world.call(node, request, 'Refused').code;

/** Messages of these types are lost from now on. */
export function without(world: OperationWorld, ...types: OperationMessage['type'][]): void {
  world.filter = ({ message }) => !types.includes(message.type);
}
