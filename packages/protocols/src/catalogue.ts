/**
 * The catalogue of protocols: family, machines, session rules, capabilities and the placements that each can run on.
 * The server, the simulator, the vectors and the scripts derive their tables from it.
 */
import type { Topology } from '@isochron/core';
import { bpr } from './bpr/bpr.js';
import { bprSession } from './bpr/session.js';
import type { Capability } from './capabilities.js';
import { ccLo } from './cclo/cclo.js';
import { contrarian } from './contrarian/contrarian.js';
import { copsGt } from './copsgt/copsgt.js';
import { cure } from './cure/cure.js';
import { eventual } from './eventual/eventual.js';
import { gentleRain } from './gentlerain/gentlerain.js';
import { hCure } from './hcure/hcure.js';
import type { OperationProtocol } from './kernel/operations/protocol.js';
import { highest, type OperationSessionRules } from './kernel/operations/session.js';
import { notFullyReplicated } from './kernel/transactions/full-replication.js';
import type { SessionRules } from './kernel/transactions/session.js';
import type { TransactionProtocol } from './kernel/transactions/snapshots.js';
import { vectorSession } from './kernel/transactions/vector-session.js';
import { nocc } from './nocc/nocc.js';
import { noccSession } from './nocc/session.js';
import { okapi } from './okapi/okapi.js';
import { orbe } from './orbe/orbe.js';
import { orbeCleaning } from './orbecleaning/orbecleaning.js';
import { orbeClock } from './orbeclock/orbeclock.js';
import { paris } from './paris/paris.js';
import { parisSession } from './paris/session.js';
import type { OperationName, ProtocolName, TransactionName } from './session-rules.js';
import { wrenSession } from './wren/session.js';
import { wren } from './wren/wren.js';

interface Entry {
  readonly capabilities: ReadonlySet<Capability>;
  /** Why the protocol cannot run on a placement; undefined where it can.  */
  unsupported(topology: Topology): string | undefined;
}

/** A protocol of interactive transactions. */
export interface TransactionEntry extends Entry {
  readonly kind: 'transactions';
  readonly protocol: TransactionProtocol;
  /** The rules of its sessions. */
  readonly session: SessionRules;
}

/** A protocol of single operations. */
export interface OperationEntry extends Entry {
  readonly kind: 'operations';
  readonly protocol: OperationProtocol;
  /** The rules of its sessions. */
  readonly session: OperationSessionRules;
}

/** A protocol of either family. */
export type CatalogueEntry = TransactionEntry | OperationEntry;

const ALL_TRANSACTIONS = ['transactions', 'list', 'stable', 'chained-commits'] as const;
const SNAPSHOTS = ['snapshots', 'read-past'] as const;

const transactions = (
  protocol: TransactionProtocol,
  session: SessionRules,
  capabilities: readonly Capability[],
): TransactionEntry => ({
  kind: 'transactions',
  protocol,
  session,
  capabilities: new Set([...ALL_TRANSACTIONS, ...capabilities]),
  unsupported: (topology) => protocol.unsupported?.(topology),
});

const operations = (protocol: OperationProtocol, capabilities: readonly Capability[]): OperationEntry => ({
  kind: 'operations',
  protocol,
  session: protocol.session ?? highest,
  capabilities: new Set([
    'operations',
    ...(protocol.rots === false ? [] : (['rot'] as const)),
    'stable',
    ...capabilities,
  ]),
  unsupported: notFullyReplicated,
});

/** The protocols of interactive transactions. */
export const TRANSACTION_PROTOCOLS: { readonly [Name in TransactionName]: TransactionEntry } = {
  paris: transactions(paris, parisSession, [
    ...SNAPSHOTS,
    'stable-snapshots',
    'changes',
    'live-queries',
    'updates',
    'write-counters',
  ]),
  bpr: transactions(bpr, bprSession, SNAPSHOTS),
  nocc: transactions(nocc, noccSession, []),
  wren: transactions(wren, wrenSession, SNAPSHOTS),
  cure: transactions(cure, vectorSession, SNAPSHOTS),
  'h-cure': transactions(hCure, vectorSession, SNAPSHOTS),
};

/** The protocols of single operations. */
export const OPERATION_PROTOCOLS: { readonly [Name in OperationName]: OperationEntry } = {
  contrarian: operations(contrarian, ['snapshots']),
  okapi: operations(okapi, ['snapshots']),
  gentlerain: operations(gentleRain, ['snapshots']),
  eventual: operations(eventual, []),
  orbe: operations(orbe, []),
  'orbe-clock': operations(orbeClock, ['snapshots']),
  'orbe-cleaning': operations(orbeCleaning, []),
  'cops-gt': operations(copsGt, ['snapshots']),
  'cc-lo': operations(ccLo, ['snapshots']),
};

/** All protocols. */
export const CATALOGUE: { readonly [Name in ProtocolName]: CatalogueEntry } = {
  ...TRANSACTION_PROTOCOLS,
  ...OPERATION_PROTOCOLS,
};
