import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { buildSync } from 'esbuild';

/** By how many bytes the heap grows over many rounds in which only young objects are collected. */
function growth(): number {
  const bundled = buildSync({
    entryPoints: [join(__dirname, 'heartbeats.ts')],
    bundle: true,
    write: false,
    format: 'esm',
  });
  const program = `
    ${bundled.outputFiles[0]!.text}
    const collector = new HeartbeatCollector('virginia');
    const round = (time) => {
      for (let node = 0; node < 8; node++)
        for (let i = 0; i < 20; i++) collector.add('node' + node, { partition: i, from: i, to: time + i });
      collector.flush({ send: () => undefined });
    };
    round(0);
    gc(); gc();
    const before = process.memoryUsage().heapUsed;
    for (let time = 1; time < 2_000; time++) {
      round(time);
      if (time % 100 === 0) gc({ type: 'minor' });
    }
    gc({ type: 'minor' });
    console.log(process.memoryUsage().heapUsed - before);`;
  const args = ['--expose-gc', '--input-type=module', '--eval', program];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

test('the heartbeats of a round die young: no later round keeps their map alive', () => {
  expect(growth()).toBeLessThan(1_000_000);
});
