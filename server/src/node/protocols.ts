/**
 * The protocols of the catalogue as a node serves them: how the machines of a node are opened, the messages between
 * them, and how a session begins.
 */
import { invariant, type MessageSchema, type RegionId, type Topology } from '@isochron/core';
import {
  type CommonNodeOptions,
  createOperationNode,
  createTransactionNode,
  OPERATION_PROTOCOLS,
  type OperationEntry,
  type OperationMessage,
  type OperationName,
  type OperationNode,
  OperationSession,
  type OperationSessionState,
  operationSchema,
  type ProtocolName,
  Session,
  type SessionRules,
  type SessionState,
  TRANSACTION_PROTOCOLS,
  type TransactionEntry,
  type TransactionMessage,
  type TransactionName,
  type TransactionNode,
  transactionSchema,
} from '@isochron/protocols';
import type { Offer } from '@isochron/sessions';

interface Served extends Offer {
  readonly name: ProtocolName;
  /** The reason why it cannot run on this placement; undefined when it can. */
  unsupported(topology: Topology): string | undefined;
}

/** A protocol whose clients use the messages of interactive transactions. */
export interface ServedTransactions extends Served {
  readonly kind: 'transactions';
  /** Number of entries that a snapshot has beside its timestamp (`Deps`). */
  entries(topology: Topology): number;
  readonly schema: MessageSchema<TransactionMessage>;
  /** The machines of a node. */
  open(options: CommonNodeOptions): TransactionNode;
  /** @param id 128 random bits as text, never used by another session (P8) */
  session(id: string, state?: SessionState): Session;
  /** The rules of the protocol's sessions; the rules distinguish its tokens from the tokens of other protocols. */
  readonly rules: SessionRules;
}

/** A protocol whose clients use the messages of single operations. */
export interface ServedOperations extends Served {
  readonly kind: 'operations';
  readonly schema: MessageSchema<OperationMessage>;
  /** The machines of a node. */
  open(options: CommonNodeOptions): OperationNode;
  /**
   * The session state of a client.
   * @param id 128 random bits as text, never used by another session (P8)
   * @param region receives its requests
   */
  session(id: string, region: RegionId, state?: OperationSessionState): OperationSession;
}

export type ServedProtocol = ServedTransactions | ServedOperations;

const transactions = ({ protocol, session, ...entry }: TransactionEntry): ServedTransactions => ({
  ...entry,
  name: protocol.name as TransactionName,
  entries: (topology) => protocol.entries?.(topology) ?? 0,
  schema: transactionSchema,
  open: (options) => createTransactionNode(options, protocol),
  session: (id, state) => new Session(id, session, state),
  rules: session,
});

const operations = ({ protocol, session, ...entry }: OperationEntry): ServedOperations => ({
  ...entry,
  name: protocol.name as OperationName,
  schema: operationSchema,
  open: (options) => createOperationNode(options, protocol),
  session: (id, region, state) => new OperationSession(id, region, session, state),
});

type ServedProtocols = { readonly [Name in TransactionName]: ServedTransactions } & {
  readonly [Name in OperationName]: ServedOperations;
};

const SERVED = Object.fromEntries([
  ...Object.entries(TRANSACTION_PROTOCOLS).map(([name, entry]) => [name, transactions(entry)]),
  ...Object.entries(OPERATION_PROTOCOLS).map(([name, entry]) => [name, operations(entry)]),
]) as ServedProtocols;

/** The served protocol of this name. */
export const servedProtocol = <Name extends ProtocolName>(name: Name): ServedProtocols[Name] => SERVED[name];

/** The same for a protocol with transactions. */
export function servedTransactions(name: ProtocolName): ServedTransactions {
  const served: ServedProtocol = servedProtocol(name);
  invariant(served.kind === 'transactions', () => `${name} has no transactions`);
  return served;
}
