/** Where the patches are. */
const PARIS = 'packages/protocols/src/paris';
const REPLICATION_FOLDER = 'packages/protocols/src/kernel/replication';
const TRANSACTIONS = 'packages/protocols/src/kernel/transactions';

export const COHORT = `${TRANSACTIONS}/cohort.ts`;
export const COMMITS = `${TRANSACTIONS}/commits.ts`;
export const NODE = `${TRANSACTIONS}/node.ts`;
export const REPLICATION = `${REPLICATION_FOLDER}/replication.ts`;
export const NODE_PARTS = 'packages/protocols/src/kernel/node-parts.ts';
export const READS = `${TRANSACTIONS}/reads.ts`;
export const REBUILD = `${REPLICATION_FOLDER}/rebuild.ts`;
export const REPLICA = `${TRANSACTIONS}/replica.ts`;
export const SESSION = `${TRANSACTIONS}/session.ts`;
export const SNAPSHOTS = `${PARIS}/paris.ts`;
export const STRETCHES = `${REPLICATION_FOLDER}/stretches.ts`;
export const STABILIZATION = `${REPLICATION_FOLDER}/stabilization.ts`;
export const AGGREGATION = `${REPLICATION_FOLDER}/aggregation.ts`;
export const CACHE = `${TRANSACTIONS}/write-cache.ts`;
export const COMMITTED = `${TRANSACTIONS}/committed-queue.ts`;
export const STREAM = `${REPLICATION_FOLDER}/replication-stream.ts`;
export const DRIFT_WATCH = 'packages/protocols/src/kernel/drift-watch.ts';
export const PEER_CLOCKS = 'packages/protocols/src/kernel/peer-clocks.ts';
export const VECTOR = `${REPLICATION_FOLDER}/version-vector.ts`;
