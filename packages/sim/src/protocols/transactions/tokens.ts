/** The session tokens of a simulated cluster. */
import type { Topology } from '@isochron/core';
import type { Session, SessionState, TransactionProtocol } from '@isochron/protocols';
import { SessionTokens, SnapshotChecks } from '@isochron/sessions';
import { tokenCluster } from '../sessions.js';

/** @param createSession makes the sessions of the protocol */
export function sessionTokens(
  topology: Topology,
  protocol: TransactionProtocol,
  createSession: (id: string, state?: SessionState) => Session,
): SessionTokens {
  const checks = new SnapshotChecks(protocol.entries?.(topology) ?? 0);
  return new SessionTokens(tokenCluster(protocol.name), createSession('').rules, checks);
}
