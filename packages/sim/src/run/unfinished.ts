import { outwaitsLinks } from '../checks/liveness/undisturbed.js';
import type { Plan } from '../plan/plan.js';

/** A client of a run. */
interface Working {
  readonly name: string;
  readonly finished: boolean;
  readonly doing: string;
  /** Whether a write of its session is undecided. */
  readonly settling: boolean;
}

/**
 * The clients whose work has not ended. Coordinators that give up before the slowest link has taken an answer there and
 * back may never decide a write, nor report its end. The session asks for ever; its client waits as long if nothing
 * limits how long a commit may take, and else it has done all else.
 */
export function unfinishedOf(clients: readonly Working[], plan: Pick<Plan, 'environment' | 'settings'>): string[] {
  const mayAskForEver = !outwaitsLinks(plan);
  const mayWaitForEver = plan.environment.commitTimeoutMs === undefined;
  const isExcused = ({ settling, doing }: Working) =>
    mayAskForEver && settling && (mayWaitForEver || doing === 'finished');
  return clients
    .filter((client) => !client.finished && !isExcused(client))
    .map(({ name, doing }) => `${name} (${doing})`);
}
