import { HLC_EPOCH_MS, packWall, Topology, txIdOf } from '@isochron/core';
import { attemptsAt, homeInId, homeOfKey, partWithHome, repeatedSentAfter } from './home-in-id.js';

const REGIONS = ['virginia', 'oregon', 'ireland'];
const topologyOf = (regions: readonly string[]) =>
  Topology.of({
    regions: regions.map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
    keyspaces: [{ name: 'default', partitions: 1, replication: 2 }],
  });
const topology = topologyOf(REGIONS);
const RANDOM = 'abcdefghijklmnopqrst_-';

describe('the id of a write over HTTP', () => {
  it('the id of a write names its home and the regions that its attempt avoids, for every repetition (D4)', () => {
    for (const home of REGIONS)
      for (const avoid of [[], ['oregon'], ['ireland'], ['ireland', 'virginia']]) {
        const txId = txIdOf(partWithHome(RANDOM, { home, avoid }, topology), 7);
        expect(homeInId(txId, topology)).toEqual({ home, avoid });
      }
  });

  it('the id of a write that would avoid every region avoids none', () => {
    const txId = txIdOf(partWithHome(RANDOM, { home: 'oregon', avoid: REGIONS }, topology), 7);
    expect(homeInId(txId, topology)).toEqual({ home: 'oregon', avoid: [] });
  });

  it('the id of a write names its home among a hundred regions', () => {
    const many = topologyOf(Array.from({ length: 100 }, (_, i) => `r${i}`));
    for (const home of ['r0', 'r35', 'r36', 'r99'])
      expect(homeInId(txIdOf(partWithHome(RANDOM, { home, avoid: [] }, many), 0), many)?.home).toBe(home);
  });

  it.each([
    ['a session', `${RANDOM}.1`],
    ['a region that does not exist', `${RANDOM}-A3.1`],
    ['another length', `${RANDOM}x-A1.1`],
    ['a mark without a home', `${RANDOM}-A.1`],
  ])('an id of %s names no home', (_whose, txId) => {
    expect(homeInId(txId, topology)).toBeUndefined();
  });
});

describe('the home of an Idempotency-Key', () => {
  it('the home of an Idempotency-Key is the region that it names before its first colon', () => {
    for (const home of REGIONS) expect(homeOfKey(`${home}:order:7`, topology)).toBe(home);
  });

  it('the home of any other Idempotency-Key is one of all regions, selected by its text', () => {
    const keys = Array.from({ length: 300 }, (_, i) => `order ${i}`);
    const regions = keys.map((key) => homeOfKey(key, topology));
    expect(keys.map((key) => homeOfKey(key, topologyOf(REGIONS)))).toEqual(regions);
    for (const region of REGIONS) expect(regions.filter((home) => home === region).length).toBeGreaterThan(60);
    for (const odd of ['', ':', 'tokyo:7', 'virginia', ' virginia:7'])
      expect(REGIONS).toContain(homeOfKey(odd, topology));
  });

  it('a write under an Idempotency-Key was sent after a time below stable time, also where that stands still (D5)', () => {
    const nowMs = HLC_EPOCH_MS + 3_600_000;
    const [fresh, old] = [packWall(nowMs), packWall(nowMs - 1_800_000)];
    expect(repeatedSentAfter(fresh, nowMs, 86_400_000)).toBe(packWall(nowMs - 600_000));
    expect(repeatedSentAfter(fresh, nowMs, 60_000)).toBe(packWall(nowMs - 30_000));
    expect(repeatedSentAfter(old, nowMs, 86_400_000)).toBe(old - 1);
    expect(repeatedSentAfter(0, nowMs, 86_400_000)).toBe(0);
  });
});

describe('the attempts of a single operation under its id', () => {
  it('each attempt has one region, in whatever region the operation is repeated (D4)', () => {
    expect(attemptsAt('oregon', 'oregon', 0, topology)).toEqual(['oregon']);
    expect(attemptsAt('virginia', 'oregon', 0, topology)).toEqual(['oregon', 'ireland', 'virginia']);
    const longest = attemptsAt('virginia', 'oregon', 4, topology)!;
    expect(longest).toHaveLength(15);
    for (const region of REGIONS)
      for (const round of [0, 1, 2, 3, 4]) {
        const attempts = attemptsAt(region, 'oregon', round, topology)!;
        expect(attempts.at(-1)).toBe(region);
        expect(attempts).toEqual(longest.slice(0, attempts.length));
      }
  });

  it('the attempts of an operation end: there are at most 16', () => {
    expect(attemptsAt('virginia', 'oregon', 5, topology)).toBeUndefined();
  });
});
