/** Tokens of a cluster for tests. */
import { type SessionRules, TRANSACTION_PROTOCOLS } from '@isochron/protocols';
import { OperationTokens } from '../tokens/operation-token.js';
import { SessionTokens } from '../tokens/session-token.js';
import type { TokenCluster } from '../tokens/signed.js';
import { SnapshotChecks } from '../tokens/snapshot-checks.js';

export const MAX_DRIFT_MS = 1_000;

/** Protocols with transactions: the number of entries of a snapshot in two regions. */
const ENTRIES = { paris: 0, bpr: 0, nocc: 0, wren: 3, cure: 2 } as const;

export type TransactionsName = keyof typeof ENTRIES;

const clusterOf = (protocol: string, more: Partial<TokenCluster>): TokenCluster => ({
  secret: 'a secret for tests only',
  protocol,
  identity: 'testing',
  ...more,
});

export const rulesOf = (protocol: TransactionsName): SessionRules => TRANSACTION_PROTOCOLS[protocol].session;

export const checksOf = (protocol: TransactionsName): SnapshotChecks => new SnapshotChecks(ENTRIES[protocol]);

export const sessionTokens = (protocol: TransactionsName = 'paris', more: Partial<TokenCluster> = {}): SessionTokens =>
  new SessionTokens(clusterOf(protocol, more), rulesOf(protocol), checksOf(protocol));

export const operationTokens = (protocol: string): OperationTokens => new OperationTokens(clusterOf(protocol, {}));
