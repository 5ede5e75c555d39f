/** The durable log beside its parts, and beside a synced batch of LevelDB. */
import { join } from 'node:path';
import type { Benchmark, Context } from '../context.js';
import { type Row, ratioAtLeast } from '../figures.js';
import type { AppendJob } from '../limits/appends.js';
import { type Contender, type Load, rowParts, takeTurns } from '../rounds.js';

const COMMITTERS = 64;
/** About the bytes of a durable one-key commit. */
const RECORD_BYTES = 250;

/** Durable records of 64 loops, in groups: a bare file, the log, a synced batch of LevelDB. */
export const logAppends: Benchmark = {
  name: 'log-appends',
  about: 'durable appends of the log, and synced LevelDB batches ÷ bare write and fdatasync of the same bytes',
  run: async (context) => {
    const contenders = {
      file: appends(context, 'file'),
      log: appends(context, 'log'),
      leveldb: appends(context, 'leveldb'),
    };
    const samples = await takeTurns(contenders, context.roundOptions);
    const row = (what: string, of: (typeof samples)['log']): Row => ({
      benchmark: 'log-appends',
      what: `${what}: ${RECORD_BYTES} random bytes, ${COMMITTERS} waiting`,
      ...rowParts(of, { what: 'bare write + fdatasync', samples: samples.file }),
    });
    return [
      { ...row('durable appends of the log', samples.log), target: ratioAtLeast(0.9) },
      row('synced LevelDB batches', samples.leveldb),
    ];
  },
};

/** Each way runs in a process of its own, so that its CPU time can be measured. */
function appends(context: Context, way: AppendJob['way']): Contender {
  const helper = context.helper<AppendJob, Load>('./limits/appends.js', way);
  const job = { way, location: join(context.folder, `appends-${way}`), committers: COMMITTERS };
  return {
    pids: [helper.pid],
    run: (durationMs) => helper.run({ ...job, recordBytes: RECORD_BYTES, durationMs }),
  };
}
