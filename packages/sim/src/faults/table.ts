import type { FaultPlan } from '../plan/plan.js';
import { answersLost, clientDeath, clientDisconnect } from './clients.js';
import type { FaultKind, FaultWorld } from './fault.js';
import { clockDrift, clockFarOff, clockFarOffAtStart, clockJump, diskFull, slowDisk, stalledDisk } from './machines.js';
import { evict, leave, nextMap, order } from './maps.js';
import { cutLink, dropLink, farFrame, isolateNode, isolateRegion, slowLink, unrulyLink } from './network.js';
import { crash, crashAt, drain, freeze, lateLinks, massCrash, pause, rollback, wipe } from './nodes.js';
import { outsider } from './outsiders.js';

/** Every kind of fault. A new one is added at the end, so that plans drawn before keep their kinds. */
export const FAULTS = {
  crash,
  crashAt,
  massCrash,
  dropLink,
  cutLink,
  slowLink,
  isolateNode,
  isolateRegion,
  slowDisk,
  stalledDisk,
  clockJump,
  clockDrift,
  clientDeath,
  clientDisconnect,
  pause,
  wipe,
  rollback,
  diskFull,
  unrulyLink,
  lateLinks,
  drain,
  freeze,
  clockFarOff,
  clockFarOffAtStart,
  farFrame,
  answersLost,
  outsider,
  nextMap,
  leave,
  order,
  evict,
} as const satisfies Readonly<Record<string, unknown>>;

export type FaultName = keyof typeof FAULTS;
export const FAULT_NAMES = Object.keys(FAULTS) as FaultName[];

/** The kinds under one type: a plan has the parameters that the kind itself drew. */
export const faultKind = (name: string): FaultKind | undefined =>
  (FAULTS as Readonly<Record<string, unknown>>)[name] as FaultKind | undefined;

/** Starts a fault of a plan. */
export function startFault(world: FaultWorld, fault: FaultPlan): (() => void) | undefined {
  return faultKind(fault.kind)?.start(world, fault);
}
