import { ALL_SERVER_FRAMES, damagesOf, type Extent, sampleOf } from '@isochron/testing/wire/sample-frames';
import { authenticatedAnswer } from '@isochron/wire/session-frames/authenticated';
import type { Kind } from '@isochron/wire/session-frames/notation';
import { notation } from '@isochron/wire/session-frames/notation';
import { parseFrame, parserOf, parts } from './frames.js';
import { operationFrames } from './operation-frames.js';

const operations = operationFrames(parts, notation);
const parseAuthenticated = parserOf(authenticatedAnswer(notation));
/** No client settles commits yet, so no client gets the answer to that. */
const kinds = ALL_SERVER_FRAMES.filter(({ type }) => type !== 'settled').map((kind) => [kind.type, kind] as const);

/** Reads a frame as its client does. */
function read(raw: unknown): object {
  const frame = parseFrame(raw);
  if (frame.type === 'authenticated') return parseAuthenticated(frame.raw, 'authenticated');
  return frame.type === 'got' || frame.type === 'written' ? operations[frame.type](frame.raw) : frame;
}

/** As the client reads it: the only bytes of samples are decoded. */
const decoded = (frame: object): object =>
  JSON.parse(JSON.stringify(frame), (_, part) => (part?.bytes === 'AAEC' ? Uint8Array.of(0, 1, 2) : part));

describe.each(kinds)('the frame %s', (_type, kind: Kind<object> & { readonly type: string }) => {
  it.each<Extent>(['all fields', 'no optional field'])(
    'a frame that a node may send is read as it is declared, with %s',
    (extent) => {
      const frame = sampleOf<object>(kind, extent);
      expect(read(frame)).toEqual(decoded(frame));
      expect(read({ ...frame, newer: 1 })).toEqual(decoded(frame));
    },
  );

  it('a frame of a node with one damaged or missing part is refused', () => {
    const damages = damagesOf(kind).filter((damage) => damage !== undefined);
    for (const damage of damages)
      expect(() => read(damage)).toThrow(expect.objectContaining({ code: 'FRAME_INVALID' }));
    expect(damages.length).toBeGreaterThan(5);
  });
});
