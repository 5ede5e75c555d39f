import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClusterSpec, firstMap } from '@isochron/core';
import { openLevelStore } from './level-store.js';
import { PLACEMENT_FILE, verifyPlacement } from './placement.js';

describe('placement on disk (D14)', () => {
  let location: string;
  beforeEach(async () => {
    location = await mkdtemp(join(tmpdir(), 'isochron-placement-'));
  });
  afterEach(() => rm(location, { recursive: true, force: true }));

  const regions = [
    { id: 'virginia', nodes: [{ id: 'virginia-1' }, { id: 'virginia-2' }] },
    { id: 'oregon', nodes: [{ id: 'oregon-1' }, { id: 'oregon-2' }] },
  ];
  const keyspaces = [
    { name: 'default', partitions: 2, replication: 2 },
    { name: 'eu', partitions: 1, replication: 2 },
  ];
  const placementOf = (spec: Partial<ClusterSpec> = {}) => ({
    clusterId: 'c1',
    protocol: 'paris',
    node: 'virginia-1',
    map: firstMap({ regions, keyspaces, ...spec }),
  });
  const placement = placementOf();
  const mismatch = (message: RegExp) => ({ code: 'PLACEMENT_MISMATCH', message: expect.stringMatching(message) });

  it('the check of the placement gives a new folder a random store id and keeps it', async () => {
    const { storeId } = await verifyPlacement(location, placement);
    expect(storeId).toMatch(/^[0-9a-f-]{36}$/);
    expect(await verifyPlacement(location, placement)).toEqual({ storeId });
    expect((await verifyPlacement(join(location, 'other'), placement)).storeId).not.toBe(storeId);
  });

  it('the check of the placement makes folders that only its user may read', async () => {
    await verifyPlacement(join(location, 'above', 'data'), placement);
    for (const folder of ['above', 'above/data']) expect((await stat(join(location, folder))).mode & 0o777).toBe(0o700);
  });

  it('the placement file is in the folder of the database', async () => {
    const { storeId } = await verifyPlacement(location, placement);
    const store = await openLevelStore({ location, durability: 'memory', cacheBytes: 0 });
    await store.close();
    expect(await verifyPlacement(location, placement)).toEqual({ storeId });
  });

  it('the placement file holds map 0 as a table', async () => {
    await verifyPlacement(location, placement);
    expect(JSON.parse(await readFile(join(location, PLACEMENT_FILE), 'utf8'))).toMatchObject({
      node: 'virginia-1',
      map: {
        version: 0,
        nodes: expect.arrayContaining([{ id: 'oregon-1', region: 'oregon' }]),
        replicas: [
          [0, 2],
          [3, 1],
          [0, 2],
        ],
      },
    });
  });

  it.each([
    [
      'a partition moved away',
      placementOf({ keyspaces: [{ name: 'default', partitions: 2, regions: ['oregon'] }, keyspaces[1]!] }),
      /moves partition default\/0 away/,
    ],
    [
      'a partition was renumbered',
      placementOf({ keyspaces: [{ name: 'first', partitions: 2, replication: 2 }, ...keyspaces] }),
      /renumbers partition default\/0 from 0 to 2/,
    ],
    [
      'a partition would be held without data',
      placementOf({ keyspaces: [...keyspaces, { name: 'us', partitions: 2, regions: ['virginia'] }] }),
      /places partition us\/1 on node virginia-1/,
    ],
    [
      'another node is new',
      placementOf({ regions: [regions[0]!, { id: 'oregon', nodes: [...regions[1]!.nodes, { id: 'oregon-3' }] }] }),
      /differs in the nodes, or in the placement of their data/,
    ],
    ['the data is of another node', { ...placement, node: 'oregon-1' }, /belongs to node virginia-1, not to oregon-1/],
    [
      'the data is of another protocol',
      { ...placement, protocol: 'wren' },
      /written under the protocol paris, not wren/,
    ],
    ['the data is of another cluster', { ...placement, clusterId: 'c2' }, /belongs to cluster c1, not to c2/],
  ])('the check of the placement refuses to open when %s', async (_, changed, message) => {
    await verifyPlacement(location, placement);
    await expect(verifyPlacement(location, changed)).rejects.toMatchObject(mismatch(message));
  });

  it.each(['.', 'store'])(
    'the check of the placement refuses data without a placement, in folder %s',
    async (folder) => {
      const store = await openLevelStore({ location: join(location, folder), durability: 'memory', cacheBytes: 0 });
      await store.close();
      await expect(verifyPlacement(location, placement)).rejects.toMatchObject(
        mismatch(/holds data but no PLACEMENT.json/),
      );
    },
  );

  it.each(['', '{', '{}', '{"format":3,"storeId":7}'])(
    'the check of the placement refuses a damaged file: %j',
    async (text) => {
      await writeFile(join(location, PLACEMENT_FILE), text);
      await expect(verifyPlacement(location, placement)).rejects.toMatchObject({
        code: 'STORAGE_FAILED',
        message: expect.stringContaining(PLACEMENT_FILE),
      });
      expect(await readFile(join(location, PLACEMENT_FILE), 'utf8')).toBe(text);
    },
  );

  it('the check of the placement refuses a folder of another format, and leaves it as it is', async () => {
    const text = JSON.stringify({ format: 1, storeId: 's', ...placement });
    await writeFile(join(location, PLACEMENT_FILE), text);
    await expect(verifyPlacement(location, placement)).rejects.toMatchObject({
      code: 'STORAGE_FORMAT',
      message: expect.stringMatching(/has format 1, and .* reads 3\. Start the version .* or move the folder away/),
    });
    expect(await readFile(join(location, PLACEMENT_FILE), 'utf8')).toBe(text);
  });

  it('the check of the placement reports in one line that the folder cannot be used', async () => {
    await writeFile(join(location, 'file'), '');
    await expect(verifyPlacement(join(location, 'file', 'data'), placement)).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      message: expect.stringMatching(/^Cannot use the data folder .*Choose another folder$/),
    });
  });
});
