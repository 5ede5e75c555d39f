/**
 * Cure (Akkoorath et al., ICDCS 2016), the state of the art that the Wren paper compares itself with: vectors as
 * snapshots, physical clocks. The local entry of a snapshot is its coordinator's wall clock, so a read waits on a
 * replica whose own clock is behind.
 */
import { wallOf } from '@isochron/core';
import { type NodeClock, PhysicalNodeClock } from '../kernel/node-clock.js';
import type { TransactionProtocol } from '../kernel/transactions/snapshots.js';
import { type LocalTime, vectorProtocol } from '../kernel/transactions/vectors.js';

const physical = (clock: NodeClock): LocalTime => ({
  read: (now) => clock.physical(now),
  behind: (local, now) =>
    clock.physical(now) >= local ? undefined : { notBefore: Math.max(Math.ceil(wallOf(local)), now + 1) },
});

/** Transactional causal consistency with full replication; reads wait for pending transactions and for clocks. */
export const cure: TransactionProtocol = vectorProtocol({ name: 'cure', Clock: PhysicalNodeClock }, ({ clock }) =>
  physical(clock),
);
