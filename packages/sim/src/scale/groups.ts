/** What the CPU time of nodes goes to, in the few parts that a report has room for. */

export const GROUPS = [
  'clients',
  'reads',
  'commits',
  'replication',
  'stabilisation',
  'frames',
  'durable batches',
  'turns',
  'rest',
] as const;
export type Group = (typeof GROUPS)[number];

/** The first pattern that fits a kind of work. */
const PATTERNS: readonly (readonly [RegExp, Group])[] = [
  [/persisted$/, 'durable batches'],
  [/Gossip|^Clock|^Wake|^stabilization/, 'stabilisation'],
  [/Replicate|Heartbeat|Resync|^rounds/, 'replication'],
  [/StartTx|Read|List/, 'reads'],
  [/Commit|Prepare|Abort|EndTx|Resolve/, 'commits'],
];

/** @param kind a step as in the cost model, or what else an event loop has to do */
export const groupOf = (kind: string): Group => PATTERNS.find(([pattern]) => pattern.test(kind))?.[1] ?? 'rest';
