/**
 * Eventual consistency: the baseline against which the papers measure the price of causality (Orbe, section 7). A
 * version is visible wherever it has arrived, and the last writer wins by physical time. An effect can be seen before
 * its cause.
 */
import { type Deps, MAX_TIMESTAMP } from '@isochron/core';
import { PhysicalNodeClock } from '../kernel/node-clock.js';
import type { OperationProtocol, OperationRules } from '../kernel/operations/protocol.js';

const NOTHING: Deps = [];

const rules: OperationRules = {
  entries: { seen: 0, snapshot: 0 },
  reach: { get: 'keys', rot: 'keys' },
  newest: () => 0,
  arrive: (seen) => seen,
  floor: () => 0,
  stamp: () => ({}),
  wrote: () => NOTHING,
  lacks: () => undefined,
  get: (key, _seen, { versions }) => ({ version: versions.at(key, MAX_TIMESTAMP), seen: NOTHING }),
  choosesAt: () => undefined,
  choose: () => NOTHING,
  obstacle: () => undefined,
  closes: () => 0,
  read: (key, _snapshot, { versions }) => versions.at(key, MAX_TIMESTAMP),
  saw: () => NOTHING,
};

/** Convergence only: a ROT is as many GETs. */
export const eventual: OperationProtocol = { name: 'eventual', Clock: PhysicalNodeClock, rules: () => rules };
