/** The checks of each protocol of interactive transactions. */
import type { TransactionName } from '@isochron/protocols';
import { UP_TO_A_TIMESTAMP } from '../../checks/evidence/visibility.js';
import { vectorVisibility } from '../vector-visibility.js';
import type { SimulatedTransactions } from './adapter.js';
import { wrenVisibility } from './wren-visibility.js';

const upToATimestamp = () => UP_TO_A_TIMESTAMP;

export const TRANSACTIONS: { readonly [Name in TransactionName]: SimulatedTransactions } = {
  /** Snapshots are the universal stable time. */
  paris: { clocks: 'hybrid', readsWait: false, visibility: upToATimestamp },
  /** Snapshots are one timestamp, as fresh as the coordinator's clock: replicas let reads wait for it. */
  bpr: { clocks: 'hybrid', readsWait: true, visibility: upToATimestamp },
  /** No snapshots: a read sees the newest versions that its replica has. */
  nocc: { clocks: 'hybrid', readsWait: false, visibility: undefined },
  /** Snapshots are two timestamps: one of the region that assigns them, and one of all the others. */
  wren: { clocks: 'hybrid', readsWait: false, visibility: wrenVisibility },
  /**
   * Snapshots have an entry for each region. The own one is the coordinator's physical clock: replicas wait for theirs.
   */
  cure: { clocks: 'physical', readsWait: true, visibility: vectorVisibility },
  /** Cure with hybrid clocks: reads wait for pending transactions alone. */
  'h-cure': { clocks: 'hybrid', readsWait: true, visibility: vectorVisibility },
};
