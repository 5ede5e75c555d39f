/** Idle sessions of the SDK. */
import { answerJobs } from '../jobs.js';
import { loadCluster } from './loaded-cluster.js';

/** Opens sessions beside the open ones, and keeps them. */
export interface IdleSessionsJob {
  readonly configFile: string;
  readonly region: string;
  readonly sessions: number;
}

/** Number of connections opened at the same time. */
const AT_ONCE = 50;

answerJobs<IdleSessionsJob, number>(async ({ configFile, region, sessions }) => {
  const cluster = loadCluster(configFile);
  for (let open = 0; open < sessions; open += AT_ONCE) {
    const some = Math.min(AT_ONCE, sessions - open);
    await Promise.all(Array.from({ length: some }, () => cluster.connect(region)));
  }
  return sessions;
});
