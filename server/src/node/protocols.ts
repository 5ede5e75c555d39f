/**
 * The protocols that a cluster can run. Everything that the server knows of one is in its entry here: what it offers, what it can be placed
 * on, how the machines of a node are opened, what they say to one another, and what a session remembers.
 */
import { invariant, type MessageSchema, type RegionId, type Topology } from '@isochron/core';
import {
  BprSession,
  bpr,
  type CommonNodeOptions,
  CureSession,
  ccLo,
  contrarian,
  copsGt,
  createOperationNode,
  createTransactionNode,
  cure,
  eventual,
  gentleRain,
  HCureSession,
  hCure,
  highest,
  NoccSession,
  nocc,
  notFullyReplicated,
  type OperationMessage,
  type OperationNode,
  type OperationProtocol,
  OperationSession,
  type OperationSessionState,
  okapi,
  operationSchema,
  orbe,
  orbeCleaning,
  orbeClock,
  ParisSession,
  paris,
  type Session,
  type SessionRules,
  type SessionState,
  type TransactionMessage,
  type TransactionNode,
  type TransactionNodeOptions,
  type TransactionProtocol,
  transactionSchema,
  WrenSession,
  wren,
} from '@isochron/protocols';
import type { Capability, Offer } from '@isochron/sessions';
import type { ProtocolName } from '../config/protocol-names.js';

interface Served extends Offer {
  readonly name: ProtocolName;
  /** Why it cannot run on this placement; undefined when it can. */
  unsupported(topology: Topology): string | undefined;
}

/** A protocol whose clients speak the messages of interactive transactions. */
export interface ServedTransactions extends Served {
  readonly kind: 'transactions';
  /** Number of entries that a snapshot has beside its timestamp (`Deps`). */
  entries(topology: Topology): number;
  readonly schema: MessageSchema<TransactionMessage>;
  /** The machines of a node. */
  open(options: TransactionNodeOptions): TransactionNode;
  /** @param id 128 random bits as text, never used by another session (P8) */
  session(id: string, state?: SessionState): Session;
  /** What tells its sessions from those of other protocols. */
  readonly rules: SessionRules;
}

/** A protocol whose clients speak the messages of single operations. */
export interface ServedOperations extends Served {
  readonly kind: 'operations';
  readonly schema: MessageSchema<OperationMessage>;
  /** The machines of a node. */
  open(options: CommonNodeOptions): OperationNode;
  /**
   * What a client remembers.
   * @param id 128 random bits as text, never used by another session (P8)
   * @param region where its requests go
   */
  session(id: string, region: RegionId, state?: OperationSessionState): OperationSession;
}

export type ServedProtocol = ServedTransactions | ServedOperations;

const ALWAYS = ['transactions', 'list', 'stable', 'chained-commits'] as const;
const SNAPSHOTS = ['snapshots', 'read-past'] as const;

function transactions(
  name: ProtocolName,
  protocol: TransactionProtocol,
  SessionClass: new (id: string, state?: SessionState) => Session,
  capabilities: readonly Capability[],
): ServedTransactions {
  return {
    kind: 'transactions',
    name,
    capabilities: new Set([...ALWAYS, ...capabilities]),
    unsupported: (topology) => protocol.unsupported?.(topology),
    entries: (topology) => protocol.entries?.(topology) ?? 0,
    schema: transactionSchema,
    open: (options) => createTransactionNode(options, protocol),
    session: (id, state) => new SessionClass(id, state),
    rules: new SessionClass('').rules,
  };
}

function operations(
  name: ProtocolName,
  protocol: OperationProtocol,
  capabilities: readonly Capability[],
): ServedOperations {
  const rots = protocol.rots === false ? [] : (['rot'] as const);
  return {
    kind: 'operations',
    name,
    capabilities: new Set(['operations', ...rots, 'stable', ...capabilities]),
    unsupported: notFullyReplicated,
    schema: operationSchema,
    open: (options) => createOperationNode(options, protocol),
    session: (id, region, state) => new OperationSession(id, region, protocol.session ?? highest, state),
  };
}

const SERVED = {
  paris: transactions('paris', paris, ParisSession, [...SNAPSHOTS, 'stable-snapshots']),
  bpr: transactions('bpr', bpr, BprSession, SNAPSHOTS),
  nocc: transactions('nocc', nocc, NoccSession, []),
  wren: transactions('wren', wren, WrenSession, SNAPSHOTS),
  cure: transactions('cure', cure, CureSession, SNAPSHOTS),
  'h-cure': transactions('h-cure', hCure, HCureSession, SNAPSHOTS),
  contrarian: operations('contrarian', contrarian, ['snapshots']),
  okapi: operations('okapi', okapi, ['snapshots']),
  gentlerain: operations('gentlerain', gentleRain, ['snapshots']),
  eventual: operations('eventual', eventual, []),
  orbe: operations('orbe', orbe, []),
  'orbe-clock': operations('orbe-clock', orbeClock, ['snapshots']),
  'orbe-cleaning': operations('orbe-cleaning', orbeCleaning, []),
  'cops-gt': operations('cops-gt', copsGt, ['snapshots']),
  'cc-lo': operations('cc-lo', ccLo, ['snapshots']),
} satisfies { readonly [Name in ProtocolName]: ServedProtocol };

/** What a cluster that runs this protocol does. */
export const servedProtocol = <Name extends ProtocolName>(name: Name): (typeof SERVED)[Name] => SERVED[name];

/** The same where it has transactions. */
export function servedTransactions(name: ProtocolName): ServedTransactions {
  const served: ServedProtocol = servedProtocol(name);
  invariant(served.kind === 'transactions', () => `${name} has no transactions`);
  return served;
}
