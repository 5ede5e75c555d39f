import { Reader, type ReadingClient } from './reader.js';
import type { City, CityRow } from './source.js';

const city = (name: string): City => ({
  name,
  country: 'US',
  admin: 'VA',
  population: 1,
  longitude: 0.5,
  latitude: -0.5,
});
const ROWS: CityRow[] = ['a', 'b'].map((key) => ({ key, city: city(key) }));
const [A, B] = ROWS.map((row) => row.city);

/** Reads once per answer; every answer is the cluster's values for `a` and `b`. */
async function readAll(...answers: (City | undefined)[][]) {
  const client: ReadingClient = {
    status: { ust: 1, stalenessMs: 7 },
    collection: () => ({
      getMany: async () => {
        const answer = answers.shift()!;
        if (answers.length === 0) reader.stop();
        return answer;
      },
    }),
  };
  const reader: Reader = new Reader(client, 'oregon', { rows: ROWS, random: () => 0 });
  await reader.run();
  return reader.report;
}

describe('Reader', () => {
  it('Reader finds nothing wrong where a transaction appears as a whole and stays', async () => {
    const report = await readAll([undefined, undefined], [A, B], [A, B]);
    expect(report).toMatchObject({ reads: 3, citiesSeen: 4, torn: 0, vanished: 0, wrong: 0, maxStalenessMs: 7 });
  });

  it('Reader reports a transaction that is seen in part', async () => {
    expect(await readAll([A, undefined])).toMatchObject({ torn: 1, vanished: 0 });
  });

  it('Reader reports a transaction that vanishes', async () => {
    expect(await readAll([A, B], [undefined, undefined])).toMatchObject({ torn: 0, vanished: 1 });
  });

  it('Reader reports a city that is not as it was written', async () => {
    expect(await readAll([A, city('c')])).toMatchObject({ wrong: 1 });
  });
});
