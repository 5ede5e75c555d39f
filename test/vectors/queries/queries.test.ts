import { DEFAULTS } from '../generate.js';
import { DRAWN_QUERIES, queries } from './queries.js';

interface Step {
  readonly set: readonly { readonly key: string; readonly value: unknown; readonly pending: boolean }[];
  readonly hasChanged: boolean;
  readonly result: readonly { readonly key: string; readonly pending: boolean }[];
  readonly changes: readonly {
    readonly type: string;
    readonly key: string;
    readonly oldIndex?: number;
    readonly newIndex?: number;
  }[];
}
interface Case {
  readonly where: readonly { readonly op: string }[];
  readonly orderBy: readonly unknown[];
  readonly limit: number | null;
  readonly steps: readonly Step[];
}
interface File {
  readonly seed: number;
  readonly queries: readonly Case[];
  readonly faults: readonly { readonly why: string }[];
}

const file = JSON.parse(JSON.stringify(queries(DEFAULTS.seed))) as File;

/** Cases for which a check fails, with the seed that drew them. */
const failing = (holds: (one: Case) => boolean): string[] =>
  file.queries.flatMap((one, i) =>
    holds(one) ? [] : [`seed ${file.seed}, query ${i}: ${JSON.stringify(one).slice(0, 2000)}`],
  );

/** The keys of a result after its changes, as an application applies them. */
function changed(before: readonly string[], { changes }: Step): readonly string[] {
  const keys = [...before];
  const places = changes.flatMap(({ oldIndex }) => (oldIndex === undefined ? [] : [oldIndex]));
  for (const at of places.sort((a, b) => b - a)) keys.splice(at, 1);
  for (const { key, newIndex } of changes) if (newIndex !== undefined) keys.splice(newIndex, 0, key);
  return keys;
}

const keysOf = ({ result }: Step): readonly string[] => result.map(({ key }) => key);

describe('the vectors of queries', () => {
  it('the vectors of queries are at least a thousand, and the same for the same seed', () => {
    expect(file.queries.length).toBeGreaterThan(DRAWN_QUERIES);
    expect(DRAWN_QUERIES).toBeGreaterThanOrEqual(1000);
    expect(JSON.parse(JSON.stringify(queries(DEFAULTS.seed)))).toEqual(file);
    expect(JSON.parse(JSON.stringify(queries(DEFAULTS.seed + 1)))).not.toEqual(file);
  });

  it('the changes of each step in the vectors make its result of the one before', () => {
    const holds = ({ steps }: Case): boolean =>
      steps.every((step, i) => {
        const before = i === 0 ? [] : keysOf(steps[i - 1]!);
        return JSON.stringify(changed(before, step)) === JSON.stringify(keysOf(step));
      });
    expect(failing(holds)).toEqual([]);
  });

  it('the vectors of queries have results at a limit, below it, and without documents', () => {
    const steps = file.queries.flatMap(({ limit, steps }) => steps.map(({ result }) => ({ limit, at: result.length })));
    const count = (holds: (at: number, limit: number | null) => boolean): number =>
      steps.filter(({ limit, at }) => holds(at, limit)).length;
    expect(count((at, limit) => at === limit)).toBeGreaterThan(100);
    expect(count((at, limit) => limit !== null && at < limit && at > 0)).toBeGreaterThan(100);
    expect(count((at) => at === 0)).toBeGreaterThan(100);
  });

  it.each(['==', '!=', '<', '<=', '>', '>=', 'in', 'array-contains'])(
    'the vectors of queries have documents that meet the condition %s, and others that do not',
    (op) => {
      const own = file.queries.filter(({ where }) => where.length === 1 && where[0]!.op === op);
      const first = own.map(({ steps }) => steps[0]!);
      expect(first.filter(({ result }) => result.length > 0).length).toBeGreaterThanOrEqual(5);
      const isPartial = ({ set, result }: Step) => result.length < set.filter(({ value }) => value !== null).length;
      expect(first.filter(isPartial).length).toBeGreaterThanOrEqual(5);
    },
  );

  it('the vectors of queries have the sentence of each fault, which names the clause', () => {
    expect(file.faults.length).toBeGreaterThan(20);
    for (const { why } of file.faults) expect(why).toMatch(/^(where|orderBy|limit)/);
  });
});
