/** The node as a library: configuration, the HTTP and WebSocket API, metrics. */
export { apiKeysFromEnv } from './auth/hook.js';
export { Authority, validFor } from './cli/certs/authority.js';
export { awsOneWayMs } from './cli/dev/wan.js';
export * from './config/cluster-file.js';
export * from './config/secret.js';
export { type ApiOptions, buildApi } from './http/api.js';
export { HttpLatency } from './http/metrics/latency.js';
export { createLogger } from './http/metrics/logger.js';
export { buildMetrics } from './http/metrics/metrics.js';
export type * from './node/api.js';
