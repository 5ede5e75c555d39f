/** The machines of one node. Only coordinator and replicas differ between protocols. */
import type { AnyMessage, Timestamp } from '@isochron/core';
import type { Machine } from '../machine.js';
import { ROUNDS_MACHINE } from './activity.js';
import type { DriftWatch } from './drift-watch.js';
import type { Maps } from './maps/maps.js';
import type { NodeClock } from './node-clock.js';
import { type CommonNodeOptions, durableMinimum, lowestEntry, stableMinimum } from './node-parts.js';
import { type NodeState, replicaName } from './node-state.js';
import { LOSS_REPORTS_MACHINE, LossReports } from './replication/loss-reports.js';
import type { Losses } from './replication/losses.js';
import type { Membership } from './replication/membership.js';
import { Rebuild, type RebuildableReplica } from './replication/rebuild.js';
import { STABILIZATION_MACHINE, Stabilization } from './replication/stabilization.js';
import type { StableTime } from './replication/stable-time.js';
import type { Verification } from './replication/verification.js';
import { type RoundReplica, Rounds } from './rounds.js';

/**
 * The machines that a driver runs, and the state that it reads. `machines` are by name, in their order on a common
 * tick.
 */
export interface ProtocolNode<M extends AnyMessage, Coordinator, Replica> {
  readonly clock: NodeClock;
  readonly drift: DriftWatch;
  readonly stable: StableTime;
  readonly coordinator: Coordinator;
  readonly replicas: readonly Replica[];
  readonly stabilization: Stabilization;
  readonly membership: Membership;
  readonly maps: Maps;
  /** Transactions of which a lost disk took a part (D10). */
  readonly losses: Losses;
  readonly verification: Verification;
  readonly rebuild: Rebuild;
  readonly machines: readonly (readonly [name: string, machine: Machine<M>])[];
}

/** Name of the machine that settles the losses of a lost disk. */
export const SETTLEMENT_MACHINE = 'settlement';

/**
 * Adds stabilisation and the rebuilding of lost disks to a protocol's own machines.
 * @param settlement under protocols whose transactions have several cohorts
 */
export function assembleNode<
  M extends AnyMessage,
  Coordinator extends Machine<M> & { readonly sOld: Timestamp },
  Replica extends Machine<M> & RebuildableReplica & RoundReplica,
>(
  { acceptLoss = false, setAside = false, recovered }: CommonNodeOptions,
  state: NodeState,
  coordinator: Coordinator,
  replicas: readonly Replica[],
  settlement?: Machine<M>,
): ProtocolNode<M, Coordinator, Replica> {
  const own = {
    gst: () => stableMinimum(replicas, state.membership),
    heldBackBy: () => lowestEntry(replicas),
    sOld: () => coordinator.sOld,
  };
  const stabilization = new Stabilization(state, own, durableMinimum(recovered));
  const settles = settlement !== undefined;
  const rebuild = new Rebuild(state, replicas, { acceptLoss, setAside, settles }, (lost) => {
    // Before the first stable time there was nothing to lose.
    if (settles && state.stable.aggregated > 0) state.membership.unsettledPeers.add(lost);
    stabilization.onDataLoss(lost);
    for (const { replication } of replicas) replication.onDataLoss(lost);
  });
  const shared: readonly (readonly [string, Machine<never>])[] = [
    [STABILIZATION_MACHINE, stabilization],
    [ROUNDS_MACHINE, new Rounds(state, replicas, stabilization)],
    ['rebuild', rebuild],
    [LOSS_REPORTS_MACHINE, new LossReports(state)],
  ];
  return {
    clock: state.clock,
    drift: state.drift,
    stable: state.stable,
    coordinator,
    replicas,
    stabilization,
    membership: state.membership,
    maps: state.maps,
    losses: state.losses,
    verification: state.verification,
    rebuild,
    machines: [
      ...replicas.map((replica) => [replicaName(replica.partition), replica] as const),
      ['coordinator', coordinator] as const,
      ...(shared as readonly (readonly [string, Machine<M>])[]),
      ...(settles ? [[SETTLEMENT_MACHINE, settlement] as const] : []),
    ],
  };
}
