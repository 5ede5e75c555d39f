import { type DurableFact, HLC_TICKS_PER_MS, type NodeId, packWall, type Timestamp } from '@isochron/core';
import { WallClock } from '@isochron/simulated-world/wall-clock';
import type { Plan } from '../../plan/plan.js';
import type { Check, CheckContext } from '../check.js';

/**
 * A durable ceiling lies ahead of the clock (D7), and some protocols leave a window behind themselves after a restart.
 */
const AHEAD_MS = 2_000;
/** The most that a fast clock gains while its fault lasts. */
const DRIFT_MS = 2_000;

/**
 * No timestamp on a disk or on a link lies further ahead of true time than the drift limit and the drawn clocks explain
 * (K1, K2): a clock that is far off does not move other clocks, whatever it shows, and whenever it is set.
 */
export class TimestampsStayNear implements Check {
  readonly name = 'timestamps-stay-near';
  readonly #allowedMs: number;

  constructor(
    readonly context: CheckContext,
    plan: Plan,
  ) {
    this.#allowedMs = (plan.settings.maxClockDriftMs ?? 0) + explainedMs(plan) + AHEAD_MS;
  }

  wrote(node: NodeId, record: DurableFact): void {
    this.#near(node, newestIn(record), `writes a ${record.kind} record`);
  }

  frameLeft(node: NodeId, hlc: Timestamp): void {
    this.#near(node, hlc, 'sends a frame');
  }

  #near(node: NodeId, ts: Timestamp, what: string): void {
    const limit = packWall(WallClock.truth(this.context.time) + this.#allowedMs);
    if (ts <= limit) return;
    const aheadMs = Math.round((ts - limit) / HLC_TICKS_PER_MS + this.#allowedMs);
    this.context.fail(this.name, `${node} ${what} with ${ts}, ${aheadMs} ms ahead of true time`, [node]);
  }
}

/** How wrong clocks become, beside those that are set far off on purpose. */
function explainedMs({ environment, faults }: Plan): number {
  let ms = Math.max(0, ...environment.clocks.map(({ skewMs }) => Math.abs(skewMs)));
  for (const fault of faults) {
    if (fault.kind === 'clockJump') ms += Math.abs(Number(fault.ms));
    if (fault.kind === 'clockDrift') ms += DRIFT_MS;
  }
  return ms;
}

function newestIn(record: DurableFact): Timestamp {
  switch (record.kind) {
    case 'version':
      return record.version.ts;
    case 'prepared':
      return record.record?.ct ?? record.record?.pt ?? 0;
    case 'outcome':
      return record.record.ts;
    case 'log':
      return record.ct;
    case 'meta':
      if (typeof record.value === 'string') return 0;
      return typeof record.value === 'number' ? record.value : Math.max(0, ...Object.values(record.value));
    default:
      return 0;
  }
}
