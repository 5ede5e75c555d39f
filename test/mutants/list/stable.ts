/** Served times (P14). */
import type { Mutant } from '../mutant.js';
import { STABILIZATION, STABLE_TIME } from './files.js';

export const STABLE_MUTANTS: readonly Mutant[] = [
  {
    name: 'stable-of-one-node',
    breaks: 'P14',
    does: 'reports as served everywhere what is stable at the answering node',
    patches: [
      {
        file: STABLE_TIME,
        in: 'StableTime.served',
        find: 'return this.#served;',
        replace: 'return this.#value;',
      },
    ],
    seeds: { from: 5, count: 20 },
  },
  {
    name: 'served-in-one-region',
    breaks: 'P14',
    does: 'omits the other regions from the served time',
    patches: [
      {
        file: STABILIZATION,
        in: 'Stabilization.#computeUst',
        find: 'this.#raise(minimum.gst, minimum.sOld, minimum.served, now, out);',
        replace: 'this.#raise(minimum.gst, minimum.sOld, this.#contribution(now)?.served ?? 0, now, out);',
      },
    ],
    seeds: { from: 5, count: 20 },
  },
  {
    name: 'served-by-replicas-only',
    breaks: 'P14',
    does: 'omits nodes without replicas from the served time',
    patches: [
      {
        file: STABILIZATION,
        in: 'Stabilization.#contribution',
        find: 'served: this.#durableUst, wanted, heldBackBy,',
        replace: 'served: this.own.gst() === null ? Number.MAX_SAFE_INTEGER : this.#durableUst, wanted, heldBackBy,',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
];
