/** The session frames of a node under protocols with transactions. */
import type { Address, ClientRequest, Machine, Session, SessionState, TransactionProtocol } from '@isochron/protocols';
import { type Capability, ClientPort, Outcomes, TransactionSession } from '@isochron/sessions';
import { FRAMES_MACHINE, REFS, type SessionsNode, type SessionsWorld, sessionsNode } from '../sessions.js';
import type { NodeMessage } from './message.js';
import { sessionTokens } from './tokens.js';

export function openSessions(
  world: SessionsWorld<NodeMessage>,
  protocol: TransactionProtocol,
  capabilities: readonly Capability[],
  createSession: (id: string, state?: SessionState) => Session,
): SessionsNode<NodeMessage> {
  const post = (to: Address, from: Address, message: ClientRequest) => world.post({ to, from, message });
  const port = new ClientPort(world.node, { firstRef: world.incarnation * REFS, post }, FRAMES_MACHINE);
  const outcomes = new Outcomes(port, {
    now: () => world.wall(),
    ust: () => world.ust(),
    outcomeRetentionMs: world.settings.outcomeRetentionMs!,
  });
  const tokens = sessionTokens(world.topology, protocol, createSession);
  return sessionsNode(
    world,
    protocol.name,
    capabilities,
    port as Machine<NodeMessage>,
    (node) => new TransactionSession(node, { coordinator: port, outcomes, tokens }),
  );
}
