/**
 * The protocols that a cluster can run. Everything that the server knows of one is in its entry here: what it offers, what it can be placed
 * on, how the machines of a node are opened, what they say to one another, and what a session remembers.
 */
import { IsochronError, invariant, type MessageSchema, type RegionId, type Topology } from '@isochron/core';
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
import type { ProtocolName } from '../config/protocol-names.js';

/**
 * What a protocol, and this server with it, can do.
 *
 * - `transactions`: interactive ones: start, read, commit.
 * - `list`: listings, every page in the same snapshot.
 * - `operations`: get, set and delete of one key at a time.
 * - `rot`: one-shot reads of several keys. Where there are transactions, these read as many keys as they like.
 * - `stable`: waiting until a timestamp is visible in every region.
 * - `snapshots`: all reads of a transaction, a one-shot one too, see one state.
 * - `read-past`: reads at a timestamp (`at`).
 * - `stable-snapshots`: what a snapshot shows, every region has.
 */
export type Capability =
  | 'transactions'
  | 'list'
  | 'operations'
  | 'rot'
  | 'stable'
  | 'snapshots'
  | 'read-past'
  | 'stable-snapshots';

interface Served {
  readonly name: ProtocolName;
  readonly capabilities: ReadonlySet<Capability>;
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

const ALWAYS = ['transactions', 'list', 'stable'] as const;
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

/** What to do instead, where a protocol cannot do something. */
const INSTEAD: { readonly [Needed in Capability]: string } = {
  transactions: 'Get, set and delete one key at a time, or run the cluster under a protocol with transactions.',
  list: 'Read keys by their names, or run the cluster under a protocol with transactions.',
  operations: 'Read and write in transactions.',
  rot: 'Get one key at a time.',
  stable: 'Read until it is there.',
  snapshots: 'Read without one.',
  'read-past': 'Read the present.',
  'stable-snapshots': 'Wait until what was read is stable.',
};

/** The refusal of what a protocol cannot do. */
export const unsupported = ({ name }: Served, needed: Capability, what: string): IsochronError =>
  new IsochronError(
    'NOT_SUPPORTED_BY_PROTOCOL',
    `${what}: the protocol of this cluster, ${name}, has no ${needed}. ${INSTEAD[needed]}`,
  );

/** @throws IsochronError `NOT_SUPPORTED_BY_PROTOCOL` */
export function requireCapability(protocol: Served, needed: Capability, what: string): void {
  if (!protocol.capabilities.has(needed)) throw unsupported(protocol, needed, what);
}
