import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import fc from 'fast-check';
import { TransientMap } from './transient-map.js';

test('a TransientMap holds what a Map holds, in its order, whatever comes and goes', () => {
  const key = fc.integer({ min: 0, max: 20 });
  const step = fc.tuple(fc.constantFrom('set', 'delete'), key);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 1000, size: 'max' }), (steps) => {
      const map = new TransientMap<number, object>();
      const model = new Map<number, object>();
      for (const [what, k] of steps) {
        if (what === 'set') {
          const value = {};
          map.set(k, value);
          model.set(k, value);
        } else expect(map.delete(k)).toBe(model.delete(k));
        expect(map.size).toBe(model.size);
        expect(map.get(k)).toBe(model.get(k));
        expect(map.has(k)).toBe(model.has(k));
      }
      expect([...map]).toEqual([...model]);
      expect([...map.values()]).toEqual([...model.values()]);
    }),
    { numRuns: 30 },
  );
});

const transientMap = buildSync({ entryPoints: [join(__dirname, 'transient-map.ts')], write: false, format: 'esm' })
  .outputFiles[0]!.text;

/** Growth of the heap, in bytes, after values were added and deleted and only young objects were collected. */
const growth = (name: 'Map' | 'TransientMap'): number => {
  const program = `
    ${transientMap}
    const map = new ${name}();
    for (let key = 0; key < 8; key++) map.set(key, {});
    gc(); gc();
    const before = process.memoryUsage().heapUsed;
    for (let key = 8; key < 20_000; key++) {
      map.set(key, new Array(20).fill(key));
      map.delete(key);
      if (key % 2_000 === 0) gc({ type: 'minor' });
    }
    gc({ type: 'minor' });
    console.log(process.memoryUsage().heapUsed - before);`;
  const args = ['--expose-gc', '--input-type=module', '--eval', program];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
};

test('what a TransientMap lets go dies young; what a Map lets go lives until the next full collection', () => {
  const transient = growth('TransientMap');
  expect(transient).toBeLessThan(500_000);
  // If this fails, V8 has changed, and the class may not be needed any more.
  expect(growth('Map')).toBeGreaterThan(3 * Math.max(transient, 100_000));
});
