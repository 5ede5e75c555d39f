import { outwaitsLinks } from '../checks/liveness/undisturbed.js';
import type { Plan } from '../plan/plan.js';

/** A client of a run. */
interface Working {
  readonly name: string;
  readonly finished: boolean;
  readonly doing: string;
  /** Whether it waits for the outcome of a write, or for nothing else any more. */
  readonly awaitsOutcome: boolean;
}

/**
 * The clients whose work has not ended. Coordinators that give up before the slowest link has taken an answer there and
 * back may never decide a write, nor report its end. The session asks for ever; its client waits as long if nothing
 * limits how long a commit may take, and else it has done all else.
 */
export function unfinishedOf(clients: readonly Working[], plan: Pick<Plan, 'environment' | 'settings'>): string[] {
  const mayAskForEver = !outwaitsLinks(plan);
  const mayWaitForEver = plan.environment.commitTimeoutMs === undefined;
  const isExcused = ({ awaitsOutcome, doing }: Working) =>
    mayAskForEver && awaitsOutcome && (mayWaitForEver || doing === 'finished');
  return clients
    .filter((client) => !client.finished && !isExcused(client))
    .map(({ name, doing }) => `${name} (${doing})`);
}
