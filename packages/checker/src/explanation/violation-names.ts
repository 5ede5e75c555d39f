import type { OrderGuarantee, Outcome } from '../rules/judge.js';
import type { ViolationName } from './violations.js';

/** A violation bears the name of the guarantee that found it. */
const NAMES: Readonly<Record<OrderGuarantee, ViolationName>> = {
  'read-your-writes': 'read-your-writes',
  'read-atomicity': 'fractured-read',
  'monotonic-reads': 'monotonic-reads',
  'monotonic-writes': 'monotonic-writes',
  'writes-follow-reads': 'writes-follow-reads',
  durability: 'lost-write',
  'causal-convergence': 'causal-snapshot',
};

/** The name of a read that missed a write. */
export const nameOfStale = ({ guarantee, analysis }: Outcome, reader: number): ViolationName =>
  reader === analysis.order.final ? 'lost-write' : NAMES[guarantee];

/** The name of a contradiction between reads. */
export function nameOfCycle({ guarantee, analysis }: Outcome, readers: readonly number[]): ViolationName {
  const sessions = new Set(readers.map((tx) => analysis.order.sessionOf(tx)));
  return sessions.size > 1 ? 'divergent-order' : NAMES[guarantee];
}
