import { type QualifiedKey, Topology } from '@isochron/core';
import fc from 'fast-check';
import { KeyTable, READ_HEAVY, TransactionGenerator, type TransactionMix, WRITE_HEAVY } from './mix.js';

const REGIONS = ['virginia', 'oregon', 'ireland', 'tokyo', 'sydney'];

const topologyOf = (partitions: number, replication: number) =>
  Topology.of({
    regions: REGIONS.map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
    keyspaces: [
      { name: 'eu', partitions: 2, regions: ['ireland'] },
      { name: 'default', partitions, replication },
    ],
  });

const topology = topologyOf(45, 2);
const table = new KeyTable(topology, 50);
const generator = (mix: TransactionMix, seed = 1, region = 'oregon') =>
  new TransactionGenerator({ table, mix, region, seed });
const partitionsOf = (keys: readonly QualifiedKey[]) => new Set(keys.map((key) => topology.partitionOf(key)));

describe('KeyTable', () => {
  it('KeyTable gives every partition the same number of distinct keys that hash to it', () => {
    for (const partition of topology.partitionsOf('default')) {
      const keys = table.keysOf(partition.id);
      expect(new Set(keys).size).toBe(50);
      expect(keys.every((key) => topology.partitionOf(key) === partition.id)).toBe(true);
    }
    expect(table.allKeys()).toHaveLength(45 * 50);
  });

  it('KeyTable fills only the keyspace that was asked for', () => {
    const eu = new KeyTable(topology, 3, 'eu');
    expect(eu.allKeys()).toHaveLength(6);
    expect(eu.allKeys().every((key) => key.startsWith('eu/key-'))).toBe(true);
    expect(() => eu.keysOf(5)).toThrow(/not in the key table/);
  });

  it('KeyTable refuses a keyspace that does not exist', () => {
    expect(() => new KeyTable(topology, 3, 'nowhere')).toThrow(/no keyspace/);
  });
});

describe('TransactionGenerator', () => {
  it.each([
    ['19 reads and 1 write', READ_HEAVY, 19, 1],
    ['10 reads and 10 writes', WRITE_HEAVY, 10, 10],
  ])('TransactionGenerator makes transactions of %s over exactly 4 partitions', (_, mix, reads, writes) => {
    const source = generator(mix);
    for (let i = 0; i < 200; i++) {
      const tx = source.nextTransaction();
      expect(new Set(tx.reads).size).toBe(reads);
      expect(new Set(tx.writes).size).toBe(writes);
      expect(tx.reads).toHaveLength(reads);
      expect(partitionsOf([...tx.reads, ...tx.writes]).size).toBe(4);
    }
  });

  it('a transaction touches all its partitions also when neither reads nor writes alone would', () => {
    const source = generator({ reads: 2, writes: 2, partitionsPerTx: 4, localRatio: 1 });
    const tx = source.nextTransaction();
    expect(partitionsOf([...tx.reads, ...tx.writes]).size).toBe(4);
  });

  it('TransactionGenerator keeps 95 % of the transactions on partitions of the client region', () => {
    const source = generator(READ_HEAVY, 12);
    let local = 0;
    for (let i = 0; i < 10_000; i++) {
      const tx = source.nextTransaction();
      if (tx.local) local++;
      const hosted = [...partitionsOf([...tx.reads, ...tx.writes])].every(
        (p) => topology.replicaNode(p, 'oregon') !== undefined,
      );
      if (tx.local) expect(hosted).toBe(true);
    }
    expect(local / 10_000).toBeGreaterThan(0.94);
    expect(local / 10_000).toBeLessThan(0.96);
  });

  it('a multi-region transaction chooses among all partitions', () => {
    const source = generator({ ...READ_HEAVY, localRatio: 0 }, 3);
    const seen = new Set<number>();
    for (let i = 0; i < 500; i++) {
      for (const partition of partitionsOf(source.nextTransaction().reads)) seen.add(partition);
    }
    expect(seen.size).toBe(45);
  });

  it('TransactionGenerator prefers the popular keys of a partition as zipf 0.99 does', () => {
    const source = generator({ reads: 1, writes: 0, partitionsPerTx: 1, localRatio: 0 }, 5);
    let first = 0;
    for (let i = 0; i < 20_000; i++) {
      const [key] = source.nextTransaction().reads;
      if (table.keysOf(topology.partitionOf(key!))[0] === key) first++;
    }
    const sum = Array.from({ length: 50 }, (_, k) => (k + 1) ** -0.99).reduce((a, b) => a + b);
    expect(Math.abs(first / 20_000 - 1 / sum)).toBeLessThan(0.01);
  });

  it('the transactions of TransactionGenerator depend on its seed alone', () => {
    const draw = (seed: number) =>
      Array.from(
        { length: 10 },
        (
          (g) => () =>
            g.nextTransaction()
        )(generator(READ_HEAVY, seed)),
      );
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
  });

  it('a transaction touches as many partitions as there are when there are fewer than the mix asks for', () => {
    const small = topologyOf(5, 1);
    const source = new TransactionGenerator({
      table: new KeyTable(small, 20),
      mix: { ...WRITE_HEAVY, localRatio: 1 },
      region: 'tokyo',
      seed: 1,
    });
    const tx = source.nextTransaction();
    expect(new Set([...tx.reads, ...tx.writes].map((key) => small.partitionOf(key))).size).toBe(1);
  });

  it('TransactionGenerator works in a region without replicas, where every transaction is remote', () => {
    const eu = new KeyTable(topology, 20, 'eu');
    const tx = new TransactionGenerator({ table: eu, mix: READ_HEAVY, region: 'tokyo', seed: 1 }).nextTransaction();
    expect(tx.local).toBe(false);
    expect(tx.reads).toHaveLength(19);
  });

  it('TransactionGenerator finds distinct keys even when a transaction takes the whole table', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 12 }), (seed, size) => {
        const source = new TransactionGenerator({
          table: new KeyTable(topology, size),
          mix: { reads: 4 * size, writes: 2 * size, partitionsPerTx: 4, localRatio: 0.5 },
          region: 'oregon',
          seed,
        });
        const tx = source.nextTransaction();
        expect(new Set(tx.reads).size).toBe(4 * size);
        expect(new Set(tx.writes).size).toBe(2 * size);
      }),
      { numRuns: 20 },
    );
  });

  it('TransactionGenerator refuses a mix that needs more keys of a partition than the table has', () => {
    const tiny = new KeyTable(topology, 2);
    expect(() => new TransactionGenerator({ table: tiny, mix: READ_HEAVY, region: 'oregon', seed: 1 })).toThrow(
      /needs 5 keys of one partition/,
    );
  });

  it('TransactionGenerator gives values of 8 bytes that do not repeat', () => {
    const source = generator(READ_HEAVY);
    const values = Array.from({ length: 2000 }, () => source.nextValue());
    expect(new Set(values).size).toBe(2000);
    expect(values.every((value) => Buffer.byteLength(value) === 8)).toBe(true);
  });
});
