/** The protocols of the step traces: one of each kind that a client treats differently. */
import type { OperationName, TransactionName } from '@isochron/protocols';

export type StepProtocol = { readonly capabilities: readonly string[] } & (
  | { readonly kind: 'transactions'; readonly name: TransactionName }
  | { readonly kind: 'operations'; readonly name: OperationName }
);

const TRANSACTIONS = ['transactions', 'list', 'stable'];

/** Their capabilities are those of a server's welcome; NoCC has those of an older server, which chains no commits. */
export const STEP_PROTOCOLS: readonly StepProtocol[] = [
  {
    kind: 'transactions',
    name: 'paris',
    capabilities: [...TRANSACTIONS, 'chained-commits', 'snapshots', 'read-past', 'stable-snapshots'],
  },
  { kind: 'transactions', name: 'nocc', capabilities: TRANSACTIONS },
  { kind: 'transactions', name: 'wren', capabilities: [...TRANSACTIONS, 'chained-commits', 'snapshots', 'read-past'] },
  { kind: 'operations', name: 'orbe', capabilities: ['operations', 'stable'] },
  { kind: 'operations', name: 'cc-lo', capabilities: ['operations', 'rot', 'stable', 'snapshots'] },
];

/** The protocol of the traces with maps that suspend nodes: sessions of no other protocol judge their commits. */
export const SUSPENSION_PROTOCOLS: readonly StepProtocol[] = STEP_PROTOCOLS.filter(({ name }) => name === 'paris');

/** Those of the traces of clients whose credentials expire: of both kinds, and of nodes that chain no commits. */
export const RENEWAL_PROTOCOLS: readonly StepProtocol[] = STEP_PROTOCOLS.filter(({ name }) =>
  ['paris', 'nocc', 'orbe'].includes(name),
);
