/** One id has one effect and one status, wherever its commit is repeated, and whatever a lost disk takes (D4, D10). */
import type { Mutant } from '../mutant.js';
import { HOME_IN_ID, LOSS_REVIEW } from './files.js';
import { TORN_BY_LOST_DISKS } from './replication.js';

export const OUTCOME_MUTANTS: readonly Mutant[] = [
  {
    name: 'decided-where-it-is-repeated',
    breaks: 'D4',
    does: 'decides the repetition of a write over HTTP in the region of the node that it reaches',
    patches: [{ file: HOME_IN_ID, in: 'attemptInId', find: 'homeInId(txId, node.topology) ?? ', replace: '' }],
    seeds: { from: 1, count: 40 },
    profile: { http: {}, repeats: true },
  },
  {
    name: 'overtaken-losses-are-reported',
    breaks: 'D10',
    does: 'reports a transaction as taken back although its later attempt has committed',
    patches: [
      { file: LOSS_REVIEW, in: 'LossReview.onOutcomeResp', find: 'losses.overtake(loss.txId, out);', replace: '' },
    ],
    seeds: { from: 1, count: 40 },
    profile: TORN_BY_LOST_DISKS,
  },
];
