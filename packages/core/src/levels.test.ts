import type { Version } from './ids.js';
import { type ListRange, levelOf, pageOfLevel } from './versions.js';

const version: Version = { ts: 1, txId: '', value: '1' } as Version;
const pageOf = (keys: readonly string[], next: string | null) => ({
  entries: keys.map((key) => ({ key, version })),
  next,
});
const range = (level: number | undefined, end: string | null = 'k/boards0'): ListRange => ({
  start: 'k/boards/',
  end,
  limit: 10,
  level,
});
const of = (page: ReturnType<typeof pageOf>, asked: ListRange) => {
  const { entries, next } = pageOfLevel(page, asked);
  return [entries.map(({ key }) => key), next];
};

describe('the level of keys', () => {
  it('the level of a key is the number of its segments without the keyspace', () => {
    expect(['k/a', 'k/boards/7', 'k/boards/7/cards/1'].map(levelOf)).toEqual([1, 2, 4]);
  });

  it('a page of a level has the keys of that level only, and all of them where the range has none', () => {
    const page = pageOf(['k/boards/1', 'k/boards/1/cards/1', 'k/boards/2', 'k/boards/2/x'], null);
    expect(of(page, range(2))).toEqual([['k/boards/1', 'k/boards/2'], null]);
    expect(of(page, range(undefined))).toEqual([page.entries.map(({ key }) => key), null]);
  });

  it('the page after one that ends below a document begins behind everything below that document', () => {
    expect(of(pageOf(['k/boards/1'], 'k/boards/1/cards/7'), range(2))).toEqual([['k/boards/1'], 'k/boards/10']);
    expect(of(pageOf(['k/boards/1'], 'k/boards/2'), range(2))).toEqual([['k/boards/1'], 'k/boards/2']);
    expect(of(pageOf([], 'k/boards/9/cards/7'), range(2, 'k/boards/9/d'))).toEqual([[], null]);
    expect(of(pageOf([], 'k/boards/9/cards/7'), range(2, null))).toEqual([[], 'k/boards/90']);
  });
});
