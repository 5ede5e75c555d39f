import { CheckBench } from '../fixtures.js';
import { AlbumsArePrivate } from './albums.js';
import type { Photo } from './photo.js';

const photo = (over: Partial<Photo> = {}): Photo => ({ id: 'p', by: 'ann', album: 'ann', hiddenFrom: [], ...over });

/** The number of failures after some events. */
function failuresOf(events: (check: AlbumsArePrivate) => void): number {
  const bench = new CheckBench();
  events(new AlbumsArePrivate(bench.context));
  return bench.failed.length;
}

describe('albums of a run', () => {
  it('a photo that was added after a removal must not be shown to the one who was removed (AR1)', () => {
    expect(failuresOf((check) => check.photoShown('s', 'bob', photo(), 'a read'))).toBe(0);
    expect(failuresOf((check) => check.photoShown('s', 'cid', photo({ hiddenFrom: ['bob'] }), 'a read'))).toBe(0);
    expect(failuresOf((check) => check.photoShown('s', 'bob', photo({ hiddenFrom: ['bob'] }), 'a read'))).toBe(1);
  });

  it('a photo that was taken out before an invitation must not be shown to the one who is invited (AR1)', () => {
    const shownTo = (principal: string) => (check: AlbumsArePrivate) => {
      check.albumInvites('bob', ['p']);
      check.photoShown('s', principal, photo(), 'a list');
    };
    expect(failuresOf(shownTo('bob'))).toBe(1);
    expect(failuresOf(shownTo('cid'))).toBe(0);
  });

  it('a photo by anyone but the owner must not be committed, or shown to others (AR2)', () => {
    expect(failuresOf((check) => check.photoAdded('s', photo()))).toBe(0);
    expect(failuresOf((check) => check.photoAdded('s', photo({ by: 'bob' })))).toBe(1);
    expect(failuresOf((check) => check.photoShown('s', 'ann', photo({ by: 'bob' }), 'a list'))).toBe(1);
    // Its own session shows an own write until that is refused.
    expect(failuresOf((check) => check.photoShown('s', 'bob', photo({ by: 'bob' }), 'a live query'))).toBe(0);
  });

  it('an owner that has made an album is never refused a photo, also while something is wrong (AR3)', () => {
    expect(failuresOf((check) => check.albumRefused('s', true))).toBe(1);
    expect(failuresOf((check) => check.albumRefused('s', false))).toBe(0);
    expect(
      failuresOf((check) => {
        check.onDataLoss();
        check.albumRefused('s', true);
      }),
    ).toBe(0);
  });

  it('after the loss of a disk, parts of what was committed may be taken back', () => {
    expect(
      failuresOf((check) => {
        check.onDataLoss();
        check.photoShown('s', 'bob', photo({ hiddenFrom: ['bob'] }), 'a read');
      }),
    ).toBe(0);
  });
});
