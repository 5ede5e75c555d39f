import type { Random } from '@isochron/core';
import { logBetween, weighted } from '@isochron/simulated-world/draws';
import type { Streams } from '../engine/streams.js';
import type { FaultScene } from '../faults/fault.js';
import { FAULT_NAMES, type FaultName, faultKind } from '../faults/table.js';
import type { FaultPlan } from './plan.js';

/**
 * Draws which kinds of faults a run has, and then the faults, so that some runs have many of one kind and others none.
 * Each kind is drawn independently: a new one changes only the plans that have it.
 */
export function drawFaults(streams: Streams, scene: FaultScene, spanMs: number): FaultPlan[] {
  const kinds = FAULT_NAMES.filter((name) => faultKind(name)!.weight > 0 && streams.of('draw fault', name).chance(0.4));
  const random = streams.of('draw faults');
  if (kinds.length === 0 || random.chance(0.08)) return [];
  const weights = kinds.map((name) => [name, faultKind(name)!.weight] as const);
  const count = Math.round(logBetween(random, 1, 25));
  const faults: FaultPlan[] = [];
  for (let i = 0; i < count; i++) {
    const name = weighted(random, weights);
    const kind = faultKind(name)!;
    const parameters = kind.draw(random, scene);
    const [least, most] = kind.forMs;
    const forMs = Math.round(least === most ? least : logBetween(random, least, most));
    const atMs = Math.round(random.float() * spanMs);
    if (parameters !== undefined) faults.push({ kind: name, atMs, forMs, ...parameters });
  }
  return faults.sort((a, b) => a.atMs - b.atMs);
}

/** Nodes that close in order while HTTP callers come to them, in some runs. */
export const drawDrains = (random: Random, scene: FaultScene, spanMs: number): FaultPlan[] =>
  drawKind(random, 'drain', random.chance(0.5) ? 0 : 1 + random.below(4), scene, spanMs);

/** Clients whose connections carry no answers any more, in some runs. */
export const drawLostAnswers = (random: Random, scene: FaultScene, spanMs: number): FaultPlan[] =>
  drawKind(random, 'answersLost', random.chance(0.8) ? 0 : 1 + random.below(6), scene, spanMs);

/** Compromised nodes that decide transactions of others, in some runs. */
export const drawOutsiders = (random: Random, scene: FaultScene, spanMs: number): FaultPlan[] =>
  drawKind(random, 'outsider', random.chance(0.85) ? 0 : 1 + random.below(3), scene, spanMs);

/** Maps that voters decide, and nodes that leave, in half of the runs. */
export const drawMaps = (random: Random, scene: FaultScene, spanMs: number): FaultPlan[] =>
  random.chance(0.5)
    ? []
    : (['nextMap', 'leave'] as const).flatMap((kind) => drawKind(random, kind, random.below(4), scene, spanMs));

/** Orders of operators about nodes, in half of the runs in which nodes are suspended. */
export const drawOrders = (random: Random, scene: FaultScene, spanMs: number): FaultPlan[] =>
  drawKind(random, 'order', random.chance(0.5) ? 0 : 1 + random.below(4), scene, spanMs);

function drawKind(random: Random, kind: FaultName, count: number, scene: FaultScene, spanMs: number): FaultPlan[] {
  const { draw, forMs } = faultKind(kind)!;
  return Array.from({ length: count }, () => {
    const [least, most] = forMs;
    const [atMs, length] = [Math.round(random.float() * spanMs), Math.round(logBetween(random, least, most))];
    const parameters = draw(random, scene);
    return parameters === undefined ? [] : [{ kind, atMs, forMs: length, ...parameters }];
  }).flat();
}

/** Half of the nodes that leave stay where they are, and are asked to come back. */
export const withStays = (random: Random, faults: readonly FaultPlan[]): readonly FaultPlan[] =>
  faults.map((fault) => (fault.kind === 'leave' && random.chance(0.5) ? { ...fault, stays: true } : fault));
