/** The groups of a node's CPU time, few enough for a report. */

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

/** The first pattern that fits a kind of work decides. */
const PATTERNS: readonly (readonly [RegExp, Group])[] = [
  [/persisted$/, 'durable batches'],
  [
    /Gossip|^Clock|^Wake|^stabilization|Seal|^Accept|Map|^Leav|^MemberReq|^ReturnReq|^Silent|^Order|^ChangeReq|^Eviction|Deferred/,
    'stabilisation',
  ],
  [/Replicate|Heartbeat|Resync|^rounds/, 'replication'],
  [/StartTx|Read|List|Changes|^Live/, 'reads'],
  [/Commit|Prepare|Abort|EndTx|Resolve/, 'commits'],
];

/** @param kind a step as in the cost model, or other work of an event loop */
export const groupOf = (kind: string): Group => PATTERNS.find(([pattern]) => pattern.test(kind))?.[1] ?? 'rest';
