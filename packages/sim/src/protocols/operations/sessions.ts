/** The session frames of a node under protocols of single operations. */
import {
  type Address,
  type Machine,
  type OperationEntry,
  type OperationMessage,
  type OperationRequest,
  type OperationRequestMap,
  OperationSession,
  operationRequests,
} from '@isochron/protocols';
import { ConnectedOperations, MachinePort, OperationTokens } from '@isochron/sessions';
import {
  FRAMES_MACHINE,
  REFS,
  type SessionsNode,
  type SessionsWorld,
  sessionsNode,
  tokenCluster,
} from '../sessions.js';

export function openSessions(
  world: SessionsWorld<OperationMessage>,
  { protocol, session: rules, capabilities }: OperationEntry,
): SessionsNode<OperationMessage> {
  const post = (to: Address, from: Address, message: OperationRequest) => world.post({ to, from, message });
  const driver = { firstRef: world.incarnation * REFS, post };
  const port = new MachinePort<OperationRequestMap>(operationRequests, world.node, driver, FRAMES_MACHINE);
  const tokens = new OperationTokens(tokenCluster(protocol.name));
  const session: ConstructorParameters<typeof ConnectedOperations>[1]['session'] = (id, region, state) =>
    new OperationSession(id, region, rules, state);
  return sessionsNode(
    world,
    { name: protocol.name, capabilities },
    port as Machine<OperationMessage>,
    (node) => new ConnectedOperations(node, { coordinator: port, tokens, session }),
  );
}
