import { Topology, txIdOf } from '@isochron/core';
import { avoidedBy, avoidingPart } from './avoided.js';

const REGIONS = ['virginia', 'oregon', 'ireland'];
const topology = new Topology({
  regions: REGIONS.map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
  keyspaces: [{ name: 'default', partitions: 1, replication: 2 }],
});
const RANDOM = 'abcdefghijklmnopqrst_-';

describe('the id of a write over HTTP', () => {
  it('the id of a write names the regions that its attempt avoids, for every repetition (D4)', () => {
    for (const avoid of [['oregon'], ['ireland'], ['ireland', 'virginia']]) {
      expect(avoidedBy(txIdOf(avoidingPart(RANDOM, avoid, topology), 7), topology)).toEqual(avoid);
    }
  });

  it.each([
    ['avoids nothing', []],
    ['would avoid every region', REGIONS],
  ])('the id of a write is a plain one where it %s', (_when, avoid) => {
    expect(avoidingPart(RANDOM, avoid, topology)).toBe(RANDOM);
    expect(avoidedBy(txIdOf(RANDOM, 7), topology)).toEqual([]);
  });

  it('an id that a client made avoids no region', () => {
    expect(avoidedBy('an-idempotency-key-of-mine.1', topology)).toEqual([]);
  });
});
