/** A process that appends numbered records until it is killed, and prints the position of each that is durable. */
import { openLogIn } from '@isochron/storage/wal/segment-log';
import { numbered } from './numbered.js';

const [location, segmentBytes] = process.argv.slice(2);

async function run(): Promise<void> {
  const log = await openLogIn(location!, { segmentBytes: Number(segmentBytes) });
  // Several in flight, so that a kill meets one frame on its way and appends that wait for the next.
  let next = log.end;
  const append = async (): Promise<void> => {
    for (;;) {
      const position = next++;
      await log.append([numbered(position)]);
      process.stdout.write(`${position}\n`);
      if (position % 50 === 49) await log.cut(position - 100);
    }
  };
  await Promise.all([append(), append(), append()]);
}

void run();
