/** Tokens of a cluster for tests. */
import {
  BprSession,
  CureSession,
  NoccSession,
  ParisSession,
  type SessionRules,
  WrenSession,
} from '@isochron/protocols';
import { OperationTokens } from '../tokens/operation-token.js';
import { SessionTokens } from '../tokens/session-token.js';
import type { TokenCluster } from '../tokens/signed.js';
import { SnapshotChecks } from '../tokens/snapshot-checks.js';

export const MAX_DRIFT_MS = 1_000;

/** Protocols with transactions: their rules, and the number of entries of a snapshot in two regions. */
const PROTOCOLS = {
  paris: [new ParisSession('').rules, 0],
  bpr: [new BprSession('').rules, 0],
  nocc: [new NoccSession('').rules, 0],
  wren: [new WrenSession('').rules, 3],
  cure: [new CureSession('').rules, 2],
} satisfies Record<string, readonly [SessionRules, number]>;

export type TransactionsName = keyof typeof PROTOCOLS;

const clusterOf = (protocol: string, more: Partial<TokenCluster>): TokenCluster => ({
  secret: 'a secret for tests only',
  protocol,
  identity: 'testing',
  ...more,
});

export const rulesOf = (protocol: TransactionsName): SessionRules => PROTOCOLS[protocol][0];

export const checksOf = (protocol: TransactionsName): SnapshotChecks => new SnapshotChecks(PROTOCOLS[protocol][1]);

export const sessionTokens = (protocol: TransactionsName = 'paris', more: Partial<TokenCluster> = {}): SessionTokens =>
  new SessionTokens(clusterOf(protocol, more), rulesOf(protocol), checksOf(protocol));

export const operationTokens = (protocol: string): OperationTokens => new OperationTokens(clusterOf(protocol, {}));
