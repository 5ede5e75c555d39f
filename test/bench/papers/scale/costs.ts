/** The measured costs of the scale experiment, as `npm run bench:costs` has written them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CostModel } from '@isochron/sim/scale/cost-model';
import type { Machine } from '../../report.js';
import { ROOT } from '../../root.js';

export const COSTS_FILE = join(ROOT, 'test/bench/papers/scale/costs.json');

/** A transaction's time in a real node's event loop, and in the model, µs. */
export interface CostCheck {
  readonly what: string;
  readonly realUs: number;
  readonly modelUs: number;
}

export interface CostsRecord {
  readonly date: string;
  readonly quick: boolean;
  readonly machine: Machine;
  readonly model: CostModel;
  readonly checks: readonly CostCheck[];
}

export const readCosts = (file = COSTS_FILE): CostsRecord => JSON.parse(readFileSync(file, 'utf8')) as CostsRecord;
