/** Where the patches are. */
const PARIS = 'packages/protocols/src/paris';
const KERNEL = 'packages/protocols/src/kernel';

export const COHORT = `${PARIS}/cohort.ts`;
export const COMMITS = `${PARIS}/commits.ts`;
export const NODE = `${PARIS}/node.ts`;
export const READS = `${PARIS}/reads.ts`;
export const REBUILD = `${PARIS}/rebuild.ts`;
export const REPLICA = `${PARIS}/replica.ts`;
export const SESSION = `${PARIS}/session.ts`;
export const STABILIZATION = `${PARIS}/stabilization.ts`;
export const AGGREGATION = `${KERNEL}/aggregation.ts`;
export const CACHE = `${KERNEL}/write-cache.ts`;
export const COMMITTED = `${KERNEL}/committed-queue.ts`;
export const STREAM = `${KERNEL}/replication-stream.ts`;
export const VECTOR = `${KERNEL}/version-vector.ts`;
