/** Puts the machines of one node together, under protocols of single operations (D7). */
import { IsochronError } from '@isochron/core';
import { assembleNode, type ProtocolNode } from '../node.js';
import { type CommonNodeOptions, recoverReplicaState, recoverState, regionalTimes } from '../node-parts.js';
import { notFullyReplicated } from '../transactions/full-replication.js';
import { OperationCoordinator } from './coordinator.js';
import type { OperationMessage } from './messages.js';
import type { OperationProtocol } from './protocol.js';
import { OperationReplica } from './replica.js';

/** A node of these protocols. */
export type OperationNode = ProtocolNode<OperationMessage, OperationCoordinator, OperationReplica>;

/**
 * @throws IsochronError `CONFIG_INVALID` if a partition has no replica in a region: these protocols replicate in full
 */
export function createOperationNode(options: CommonNodeOptions, protocol: OperationProtocol): OperationNode {
  const { node, topology } = options;
  const unsupported = notFullyReplicated(topology);
  if (unsupported !== undefined) throw new IsochronError('CONFIG_INVALID', `${protocol.name}: ${unsupported}`);
  const regional = regionalTimes(protocol.regional, options, () => replicas);
  const state = recoverState(options, { Clock: protocol.Clock, entries: 0, regional, stableSnapshots: false }, 0);
  const rules = protocol.rules(state);
  const replicas: OperationReplica[] = topology
    .partitionsOn(node)
    .map(
      (partition) => new OperationReplica(partition, state, rules, recoverReplicaState(partition, options, state.maps)),
    );
  const coordinator = new OperationCoordinator(state, rules, protocol.rots ?? true);
  return assembleNode<OperationMessage, OperationCoordinator, OperationReplica>(options, state, coordinator, replicas);
}
