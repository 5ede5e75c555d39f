/** The durable log beside its parts, and beside a synced batch of LevelDB. */
import { join } from 'node:path';
import type { Benchmark, Context } from '../context.js';
import { ratioAtLeast } from '../figures.js';
import type { AppendJob } from '../limits/appends.js';
import type { Contender, Load } from '../rounds.js';
import { compare } from './compare.js';
import { COMMITTERS } from './loads.js';

/** About the bytes of a durable one-key commit. */
const RECORD_BYTES = 250;

/** Durable records of 64 loops, in groups: a bare file, the log, a synced batch of LevelDB. */
export const logAppends: Benchmark = {
  name: 'log-appends',
  about: 'durable appends of the log, and synced LevelDB batches ÷ bare write and fdatasync of the same bytes',
  run: async (context) => {
    const what = (records: string) => `${records}: ${RECORD_BYTES} random bytes, ${COMMITTERS} waiting`;
    const beside = ['file', 'bare write + fdatasync'] as const;
    return compare(
      context,
      { file: appends(context, 'file'), log: appends(context, 'log'), leveldb: appends(context, 'leveldb') },
      [
        { of: 'log', what: what('durable appends of the log'), beside, target: ratioAtLeast(0.9) },
        { of: 'leveldb', what: what('synced LevelDB batches'), beside },
      ],
    );
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
