import type { QualifiedKey } from '@isochron/core';
import type { Plan, StepPlan, TransactionPlan } from './plan.js';

/** Every key that a plan reads or writes by name. */
export function keysOf(plan: Pick<Plan, 'sessions' | 'http'>): QualifiedKey[] {
  const keys = new Set<QualifiedKey>();
  for (const { transactions } of plan.sessions) {
    for (const transaction of transactions) for (const key of namedIn(transaction)) keys.add(key);
  }
  for (const { requests } of plan.http?.callers ?? [])
    for (const request of requests) for (const key of request.keys) keys.add(key);
  return [...keys];
}

function namedIn(plan: TransactionPlan): readonly QualifiedKey[] {
  switch (plan.kind) {
    case 'get':
      return [plan.key];
    case 'read':
    case 'watch':
    case 'past':
      return plan.keys;
    case 'write':
    case 'burst':
      return plan.writes.map(({ key }) => key);
    case 'interactive':
      return plan.steps.flatMap(namedInStep);
    default:
      return [];
  }
}

const namedInStep = (step: StepPlan): readonly QualifiedKey[] =>
  step.f === 'read' ? step.keys : step.f === 'write' ? [step.key] : [];
