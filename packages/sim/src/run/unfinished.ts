import { outwaitsLinks } from '../checks/liveness/undisturbed.js';
import type { Plan } from '../plan/plan.js';

/** A client of a run. */
interface Working {
  readonly name: string;
  readonly finished: boolean;
  readonly doing: string;
}

/**
 * The clients whose work has not ended. Coordinators that give up before the slowest link has taken an answer there and
 * back never report the end of an undecided commit: a client that has done all else may ask for it for ever.
 */
export function unfinishedOf(clients: readonly Working[], plan: Pick<Plan, 'environment' | 'settings'>): string[] {
  const mayAskForEver = !outwaitsLinks(plan);
  return clients
    .filter(({ finished, doing }) => !finished && !(mayAskForEver && doing === 'finished'))
    .map(({ name, doing }) => `${name} (${doing})`);
}
