/**
 * H-Cure, the variant of Cure with hybrid clocks (Wren paper, section V): a replica that receives a snapshot ahead of
 * its clock moves its clock, and waits for pending transactions only.
 */
import type { TransactionProtocol } from '../kernel/transactions/snapshots.js';
import { vectorProtocol } from '../kernel/transactions/vectors.js';

/** Transactional causal consistency with full replication; reads wait for pending transactions. */
export const hCure: TransactionProtocol = vectorProtocol({ name: 'h-cure' }, ({ clock }) => ({
  read: (now) => clock.read(now),
  behind: (local) => {
    clock.observe(local);
    return undefined;
  },
}));
