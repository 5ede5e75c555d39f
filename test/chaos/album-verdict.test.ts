import { AlbumVerdict, WAYS } from './album-verdict.js';

const VISIBLE = { id: 'visible-0', isHidden: false };
const HIDDEN = { id: 'hidden-1', isHidden: true };

/** A verdict after every way has shown a photo and was refused, except for one of each. */
function verdictWithout(unshown?: string, unrefused?: string): AlbumVerdict {
  const verdict = new AlbumVerdict();
  verdict.held = 1;
  for (const way of WAYS) {
    if (way !== unshown) verdict.photoShown('reader/0', way, VISIBLE);
    if (way !== unrefused) verdict.refused(way);
  }
  return verdict;
}

const violationsOf = (verdict: AlbumVerdict): readonly string[] => Object.values(verdict.violations()).flat();

describe('the verdict on albums', () => {
  it('photos that were shown and refusals in every way are right, and conclusive', () => {
    const verdict = verdictWithout();
    expect([violationsOf(verdict), verdict.isConclusive]).toEqual([[], true]);
  });

  it.each(WAYS)('a hidden photo that was shown by %s is reported with its session', (way) => {
    const verdict = verdictWithout();
    verdict.photoShown('reader/1, in oregon,', way, HIDDEN);
    expect(verdict.violations()['photos shown to a reader that was removed']).toEqual([
      `reader/1, in oregon, was shown hidden-1 by ${way}`,
    ]);
  });

  it('an album that a stranger took over is reported, and conclusive; a run without a refusal is reported, too', () => {
    const taken = new AlbumVerdict();
    taken.seized('contested-0-1 at node');
    expect(taken.isConclusive).toBe(true);
    expect(taken.violations()['albums that a stranger took over in an old snapshot']).toHaveLength(1);
    const untested = verdictWithout();
    untested.held = 0;
    expect([untested.isConclusive, violationsOf(untested)]).toEqual([false, ['no stranger was refused an album']]);
  });

  it('a hidden photo is conclusive before everything else was put to the test', () => {
    const verdict = new AlbumVerdict();
    expect(verdict.isConclusive).toBe(false);
    verdict.photoShown('reader/0', 'lists', HIDDEN);
    expect(verdict.isConclusive).toBe(true);
  });

  it.each(WAYS)('a run in which the reader was shown no photo by %s is reported', (way) => {
    const verdict = verdictWithout(way);
    expect([violationsOf(verdict), verdict.isConclusive]).toEqual([[`the reader was shown no photo by ${way}`], false]);
  });

  it.each(WAYS)('a run in which the reader was never refused by %s is reported', (way) => {
    const verdict = verdictWithout(undefined, way);
    expect([violationsOf(verdict), verdict.isConclusive]).toEqual([[`the reader was never refused by ${way}`], false]);
  });

  it('a request that failed without reason is reported', () => {
    const verdict = verdictWithout();
    verdict.failed('owner/0 could not remove');
    expect(violationsOf(verdict)).toEqual(['owner/0 could not remove']);
  });

  it('the figures count changes, photos that were shown, and refusals', () => {
    const verdict = verdictWithout();
    verdict.removals = 3;
    verdict.deletions = 2;
    expect(verdict.figures()).toEqual([
      ['changes of albums', '3 removals of the reader, 2 deletions before it was invited again'],
      [
        'photos that the reader was shown / refusals',
        'reads 1 / 1, lists 1 / 1, live queries 1 / 1, the change feed 1 / 1',
      ],
      ['albums that strangers took over / refusals', '0 / 1'],
    ]);
  });
});
