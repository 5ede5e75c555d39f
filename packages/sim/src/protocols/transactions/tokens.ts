/** The session tokens of a node of a simulated cluster. */
import type { Topology } from '@isochron/core';
import type { TransactionEntry } from '@isochron/protocols';
import { SessionTokens, SnapshotChecks } from '@isochron/sessions';
import { tokenCluster } from '../sessions.js';

export function sessionTokens(
  node: { readonly topology: Topology; map(): number },
  { protocol, session }: TransactionEntry,
): SessionTokens {
  const checks = new SnapshotChecks(protocol.entries?.(node.topology) ?? 0);
  return new SessionTokens(tokenCluster(protocol.name), session, checks, () => node.map());
}
