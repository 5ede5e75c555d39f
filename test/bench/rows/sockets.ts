/**
 * The cost of a socket that sessions share beside that of own sockets: CPU of the nodes and of the client's process.
 */
import { READ_HEAVY } from '@isochron/workload';
import { REGIONS } from '../cluster.js';
import type { Benchmark } from '../context.js';
import type { Row } from '../figures.js';
import type { SdkJob } from '../load/sdk.js';
import { type Contender, type Load, rowParts, takeTurns } from '../rounds.js';

const SESSIONS = 16;

/** Sixteen sessions of one process with one node: on sockets of their own (the limit), and on a shared one. */
export const sharedSockets: Benchmark = {
  name: 'shared-sockets',
  about: 'sessions on a shared socket ÷ on sockets of their own, with the CPU of all processes',
  run: async (context) => {
    const { configFile, pids } = await context.filledCluster();
    const { keysPerPartition } = context;
    const values = context.valuesOf();
    const contenders = (kind: 'read' | 'commit' | 'transaction'): Record<'own' | 'shared', Contender> => {
      const contender = (shared: boolean): Contender => {
        const generator = context.helper<SdkJob, Load>('./load/sdk.js');
        return {
          pids: [...pids, generator.pid],
          run: (durationMs, round) => {
            const seed = context.settings.seed + round;
            const regions = REGIONS.slice(0, 1);
            const common = {
              configFile,
              keysPerPartition,
              regions,
              sessions: SESSIONS,
              durationMs,
              seed,
              own: !shared,
              values,
            };
            if (kind === 'read') return generator.run({ kind, ...common, inFlight: 1 });
            return generator.run(kind === 'commit' ? { kind, ...common } : { kind, ...common, mix: READ_HEAVY });
          },
        };
      };
      return { own: contender(false), shared: contender(true) };
    };
    const rows: Row[] = [];
    for (const [kind, what] of [
      ['read', 'one-shot reads of 1 local key'],
      ['commit', 'durable one-key commits'],
      ['transaction', 'transactions of 19 reads + 1 write'],
    ] as const) {
      const { own, shared } = await takeTurns(contenders(kind), context.roundOptions);
      rows.push({
        benchmark: 'shared-sockets',
        what: `${what}: ${SESSIONS} sessions on a shared socket`,
        ...rowParts(shared, { what: 'own sockets', samples: own }),
        details: { cpuUsOfRounds: { shared: shared.map(({ cpuUs }) => cpuUs), own: own.map(({ cpuUs }) => cpuUs) } },
      });
    }
    return rows;
  },
};
