import { Cluster, cleanUp, logged } from './harness.js';
import { ROOT, run } from './processes.js';

jest.setTimeout(90_000);
afterAll(cleanUp);

const REGIONS = ['virginia', 'oregon', 'ireland'];

describe('the example "cities"', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start();
  });

  const cities = (...args: readonly string[]) =>
    run(process.execPath, [
      `${ROOT}/examples/cities/dist/main.js`,
      '--endpoint',
      cluster.endpoints().join(','),
      ...args,
    ]);

  it(
    'the cities example imports 5,000 cities into one region, and every region shows all of them in one snapshot at the same timestamp',
    logged(async () => {
      const result = await cities('--rows', '5000', '--json');
      expect(result).toMatchObject({ code: 0 });
      const report = JSON.parse(result.stdout);
      const { source, reader } = report;
      expect(report).toMatchObject({
        from: 'virginia',
        rows: 5000,
        transactions: 50,
        ok: true,
        source: { count: 5000 },
      });
      expect(report.timestamp).toBeGreaterThan(0);
      const shown = { count: 5000, checksum: source.checksum, agrees: true };
      expect(report.regions).toEqual(REGIONS.map((region) => ({ region, readMs: expect.any(Number), ...shown })));
      // Another region read meanwhile, and every transaction that it saw was whole and stayed.
      expect(reader).toMatchObject({ region: 'oregon', torn: 0, vanished: 0, wrong: 0 });
      expect(reader.reads).toBeGreaterThan(0);
      expect(result.stderr).toMatch(/Importing: \d+ of 5000/);
    }),
  );

  it(
    'the cities example imports from another region and prints its result in words',
    logged(async () => {
      const result = await cities('--rows', '500', '--from', 'ireland', '--collection', 'again');
      expect(result.code).toBe(0);
      expect(result.stdout).toMatch(/^Imported 500 cities into ireland: 5 transactions in /);
      expect(result.stdout).toContain('All regions agree with the source.');
    }),
  );

  it('the cities example fails with one line for an unknown region', async () => {
    const result = await cities('--rows', '10', '--from', 'atlantis');
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toMatch(/^error: .*atlantis.*virginia, oregon, ireland\n$/);
  });
});
