import { Topology } from '@isochron/core';
import { KeyTable } from './mix.js';
import { OperationGenerator, type OperationMix, shareOfWrites } from './operations.js';

const topology = Topology.of({
  regions: ['virginia', 'oregon', 'ireland'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
  keyspaces: [
    { name: 'default', partitions: 9, replication: 2 },
    { name: 'eu', partitions: 2, regions: ['ireland'] },
  ],
});
const table = new KeyTable(topology, 20);

const operations = (mix: OperationMix, count: number, seed = 1) => {
  const generator = new OperationGenerator({ table, mix, region: 'oregon', seed });
  return Array.from({ length: count }, () => generator.nextOperation());
};
const writesIn = (mix: OperationMix, count: number) =>
  operations(mix, count).filter(({ kind }) => kind === 'write').length;

describe('OperationGenerator', () => {
  it('OperationGenerator reads as many keys as the mix has, each of another partition that the region hosts', () => {
    for (const { keys } of operations({ keysPerRead: 4, writes: 0, inTurn: false }, 200)) {
      const partitions = keys.map((key) => topology.partitionOf(key));
      expect(new Set(partitions).size).toBe(4);
      for (const id of partitions) expect(topology.partitions[id]!.regions).toContain('oregon');
    }
  });

  it('OperationGenerator reads fewer keys where there are fewer partitions', () => {
    const [read] = operations({ keysPerRead: 50, writes: 0, inTurn: false }, 1);
    expect(read!.keys).toHaveLength(6);
  });

  it('OperationGenerator writes one key, as often as the mix asks for', () => {
    const mix = { keysPerRead: 4, writes: 0.2, inTurn: false };
    const writes = operations(mix, 10_000).filter(({ kind }) => kind === 'write');
    expect(writes.every(({ keys }) => keys.length === 1)).toBe(true);
    expect(writes.length / 10_000).toBeCloseTo(0.2, 1);
  });

  it('OperationGenerator alternates reads and writes evenly, whatever the share', () => {
    const kinds = operations({ keysPerRead: 1, writes: 0.5, inTurn: true }, 4).map(({ kind }) => kind);
    expect(kinds).toEqual(['read', 'write', 'read', 'write']);
    expect(writesIn({ keysPerRead: 1, writes: 1 / 33, inTurn: true }, 33)).toBe(1);
    expect(writesIn({ keysPerRead: 1, writes: 1 / 33, inTurn: true }, 330)).toBe(10);
    expect(writesIn({ keysPerRead: 1, writes: 1, inTurn: true }, 5)).toBe(5);
  });

  it('OperationGenerator gives the same operations for the same seed, and others for another one', () => {
    const mix = { keysPerRead: 2, writes: 0.5, inTurn: false };
    expect(operations(mix, 50, 7)).toEqual(operations(mix, 50, 7));
    expect(operations(mix, 50, 7)).not.toEqual(operations(mix, 50, 8));
  });

  it('OperationGenerator gives each value once', () => {
    const generator = new OperationGenerator({
      table,
      mix: { keysPerRead: 1, writes: 1, inTurn: false },
      region: 'oregon',
      seed: 1,
    });
    expect(new Set(Array.from({ length: 100 }, () => generator.nextValue())).size).toBe(100);
  });

  it('OperationGenerator refuses a region that hosts nothing, and invalid shares', () => {
    const make =
      (region: string, mix: OperationMix, of = table) =>
      () =>
        new OperationGenerator({ table: of, mix, region, seed: 1 });
    const mix = { keysPerRead: 1, writes: 0.5, inTurn: false };
    expect(make('oregon', mix, new KeyTable(topology, 3, 'eu'))).toThrow(/hosts no partition/);
    expect(make('oregon', { ...mix, writes: 1.5 })).toThrow(/share/);
    expect(make('oregon', { ...mix, keysPerRead: 0 })).toThrow(/share/);
  });
});

describe('the share of writes', () => {
  it('the share of writes makes writes the given ratio of all keys read and written (Contrarian, Table 1)', () => {
    const share = shareOfWrites(0.05, 4);
    expect(share / (share + (1 - share) * 4)).toBeCloseTo(0.05);
    expect(shareOfWrites(0.3, 1)).toBeCloseTo(0.3);
  });
});
