import { ALL_CLIENT_FRAMES, damagesOf, type Extent, sampleOf } from '@isochron/testing/wire/sample-frames';
import type { Kind } from '@isochron/wire/session-frames/notation';
import { CommitFrame } from '@isochron/wire/session-frames/requests';
import { checkOf, isFrame } from './frames.js';

const kinds = ALL_CLIENT_FRAMES.map((kind) => [kind.type, kind, checkOf(kind)] as const);

describe.each(kinds)('the frame %s', (_type, kind: Kind, check: (frame: never) => unknown) => {
  it.each<Extent>(['all fields', 'no optional field'])(
    'a frame that a client may send passes its check, with %s',
    (extent) => {
      const frame = sampleOf(kind, extent);
      expect(check(frame as never)).toBe(frame);
    },
  );

  it('a frame of a client with one damaged or missing part is refused', () => {
    const damages = damagesOf(kind).filter(isFrame);
    const codes = /^(INVALID_REQUEST|VALUE_INVALID)$/;
    for (const damage of damages)
      expect(() => check(damage as never)).toThrow(expect.objectContaining({ code: expect.stringMatching(codes) }));
    expect(damages.length).toBeGreaterThanOrEqual(3);
  });
});

it('a refused frame names the field that does not fit, and what it should be', () => {
  const check = checkOf(CommitFrame);
  const commit = sampleOf(CommitFrame);
  expect(() => check({ ...commit, hwt: -1 })).toThrow('"hwt" is not a timestamp.');
  expect(() => check({ ...commit, writes: [{ key: 1, value: '1' }] })).toThrow(
    '"writes" is not a list in which each item is an object in which "key" is a string.',
  );
});
