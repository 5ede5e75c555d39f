/** The session frames of a node under protocols with transactions. */
import {
  type Address,
  type ClientRequest,
  clientRequests,
  type Machine,
  type TransactionEntry,
} from '@isochron/protocols';
import { type CoordinatorRequests, MachinePort, OutcomeQuestions, TransactionSession } from '@isochron/sessions';
import { FRAMES_MACHINE, REFS, type SessionsNode, type SessionsWorld, sessionsNode } from '../sessions.js';
import type { NodeMessage } from './message.js';
import { sessionTokens } from './tokens.js';

export function openSessions(world: SessionsWorld<NodeMessage>, entry: TransactionEntry): SessionsNode<NodeMessage> {
  const post = (to: Address, from: Address, message: ClientRequest) => world.post({ to, from, message });
  const driver = { firstRef: world.incarnation * REFS, post };
  const port = new MachinePort<CoordinatorRequests>(clientRequests, world.node, driver, FRAMES_MACHINE);
  const outcomes = new OutcomeQuestions(port, {
    now: () => world.wall(),
    ust: () => world.ust(),
    outcomeRetentionMs: world.settings.outcomeRetentionMs!,
  });
  const tokens = sessionTokens(world, entry);
  return sessionsNode(
    world,
    { name: entry.protocol.name, capabilities: entry.capabilities },
    port as Machine<NodeMessage>,
    (node) => new TransactionSession(node, { coordinator: port, access: world.access, outcomes, tokens }),
  );
}
