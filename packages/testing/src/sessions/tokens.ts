/** Tokens of a cluster for tests. */
import { type SessionRules, TRANSACTION_PROTOCOLS } from '@isochron/protocols';
import { OperationTokens } from '@isochron/sessions/tokens/operation-token';
import { SessionTokens } from '@isochron/sessions/tokens/session-token';
import type { TokenCluster } from '@isochron/sessions/tokens/signed';
import { SnapshotChecks } from '@isochron/sessions/tokens/snapshot-checks';

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

/** @param map version of the node's map */
export const sessionTokens = (
  protocol: TransactionsName = 'paris',
  more: Partial<TokenCluster> = {},
  map: () => number = () => 0,
): SessionTokens => new SessionTokens(clusterOf(protocol, more), rulesOf(protocol), checksOf(protocol), map);

export const operationTokens = (protocol: string): OperationTokens => new OperationTokens(clusterOf(protocol, {}));
