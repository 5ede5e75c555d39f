/**
 * Access rules: any file gives rules or `CONFIG_INVALID` with a line; conditions over any documents end with a verdict,
 * and allow only what their text states.
 */
import { ANONYMOUS_PRINCIPAL, IsochronError, packWall, type Value } from '@isochron/core';
import { Policy, RuleFault, type Verdict } from '@isochron/sessions';
import fc from 'fast-check';
import { type ParsedRules, parseRulesFile } from '../../server/src/access/rules-file.js';
import { damaged, damages } from './damage.js';
import { fuzz } from './fuzz.js';
import { hostileValue } from './hostile.js';

const GOOD = `# Albums.
rules:
  - name: readers-see-photos
    match: albums/{album}/photos/{photo}
    allow: [get, list]
    when: auth.id in get('albums/' + album).readers
  - { name: own, match: "albums/{rest=**}", allow: [update], when: document.owner == auth.id }
cases:
  - { name: reader, as: { id: bob }, get: albums/7/photos/1, expect: refused }
`;
const KEYSPACES = ['albums'];
const PHOTO = 'albums/7/photos/1';
const PIECES = [
  '- ',
  ': ',
  '{',
  '}',
  '[',
  ']',
  '&a ',
  '*a',
  '<<: *a',
  '!!set ',
  '|',
  '"',
  "'",
  '---\n',
  '\t',
  '\0',
  '{x=**}',
];

/** The rules, or undefined when the file was refused with the right code. */
function read(text: string): ParsedRules | undefined {
  try {
    return parseRulesFile(text, 'rules.yaml', KEYSPACES);
  } catch (error) {
    if (!(error instanceof IsochronError)) throw error;
    expect(error.code).toBe('CONFIG_INVALID');
    expect(error.message).toMatch(/^rules\.yaml:\d+: ./);
    expect(error.message).not.toContain('\n');
    return undefined;
  }
}

const albumOf = (album: Value | null | undefined) => new Map(album === undefined ? [] : [['albums/7', album]]);

/** The verdict on a read of a photo by `ann`. @param after the album as the transaction writes it */
const judged = (policy: Policy, document: Value | null, album?: Value | null, after?: Value | null): Verdict =>
  policy.judge(
    {
      verb: 'get',
      key: PHOTO,
      document,
      incoming: null,
      principal: { ...ANONYMOUS_PRINCIPAL, id: 'ann' },
      at: packWall(1),
    },
    albumOf(album),
    albumOf(after),
  );

/** The rule of a condition, or undefined where it cannot be used. */
function policyOf(when: string): Policy | undefined {
  try {
    return new Policy([{ name: 'one', match: 'albums/{album}/photos/{photo}', allow: ['get'], when }], KEYSPACES);
  } catch (error) {
    if (!(error instanceof RuleFault)) throw error;
    return undefined;
  }
}

describe('files of access rules', () => {
  fuzz(
    'a file of rules of arbitrary text is refused',
    500,
    [fc.oneof(fc.string(), fc.string({ unit: 'binary' }))],
    (text) => {
      expect(read(text)).toBeUndefined();
    },
  );

  fuzz('a file of rules with damaged bytes is refused, or gives rules that judge', 300, [damages], (changes) => {
    const rules = read(Buffer.from(damaged(Buffer.from(GOOD), changes)).toString('utf8'));
    if (rules !== undefined) judged(rules.policy, '{}', '{}');
  });

  const insertions = fc.array(fc.tuple(fc.nat({ max: GOOD.length }), fc.constantFrom(...PIECES)), {
    minLength: 1,
    maxLength: 4,
  });
  fuzz(
    'a file of rules with pieces of YAML in the wrong place is refused, or gives rules that judge',
    300,
    [insertions],
    (pieces) => {
      const rules = read(pieces.reduce((text, [at, piece]) => text.slice(0, at) + piece + text.slice(at), GOOD));
      if (rules !== undefined) judged(rules.policy, '{}', '{}');
    },
  );
});

/** Parts of conditions, which random ones are made of. */
const TOKENS = [
  ...[
    'auth',
    'auth.id',
    'auth.claims',
    'document',
    'document.a',
    'incoming',
    'album',
    'key',
    'at',
    'x',
    'null',
    'true',
  ],
  ...[
    "get('albums/' + album)",
    "get('albums/7').a",
    "getAfter('albums/' + album)",
    "getAfter('albums/7').a",
    'has(document.a)',
    'size(',
    ".contains('a')",
    '.split(key)',
    '[0]',
  ],
  ...['.map(x, ', '.all(x, ', '.exists(x, ', '.filter(x, ', '(', ')', '[', ']', '{', '}', ',', '.', '?', ':', '!', '-'],
  ...['==', '!=', '<', '>', '&&', '||', '+', '*', '/', '%', ' in ', '1', '0', '1.5', "'a'", '"', "'", 'b"x"', '3u'],
];
const condition = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fc.constantFrom(...TOKENS), { maxLength: 30 }).map((tokens) => tokens.join(' ')),
  fc.array(fc.constantFrom(...TOKENS), { maxLength: 8 }).map((tokens) => tokens.join('')),
);

/** A document of any content: JSON text, bytes, or none. */
const anyDocument: fc.Arbitrary<Value | null> = fc.oneof(
  hostileValue.map((value) => JSON.stringify(value) ?? null),
  fc.json(),
  fc.uint8Array({ maxLength: 4 }),
  fc.constant(null),
);

/** A document in which `field` often has what a rule about `ann` reads. */
const about = (field: string): fc.Arbitrary<Value | null> =>
  fc.oneof(
    anyDocument,
    fc
      .oneof(
        hostileValue,
        fc.constant('ann'),
        fc.subarray(['ann', 'bob', '', 'ANN']),
        fc.constant([['ann']]),
        fc.constant({ ann: 1 }),
      )
      .map((value) => JSON.stringify({ [field]: value })),
  );

/** Own field of a document; undefined without one. */
function fieldOf(document: Value | null, field: string): unknown {
  if (typeof document !== 'string') return undefined;
  const value: unknown = JSON.parse(document);
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, field)
    ? (value as Record<string, unknown>)[field]
    : undefined;
}

/**
 * Whether CEL finds `ann` in a value: an item of a list, or a field of an object; undefined for another value. The
 * library has no type for an object with a field `constructor`: conditions that look into it end with an error.
 */
function hasAnn(value: unknown): boolean | undefined {
  if (Array.isArray(value)) return value.includes('ann');
  if (typeof value !== 'object' || value === null || Object.hasOwn(value, 'constructor')) return undefined;
  return Object.hasOwn(value, 'ann');
}

describe('conditions of access rules', () => {
  fuzz(
    'any text is refused as a condition, or judges any documents without a fault',
    2_000,
    [condition, anyDocument, anyDocument],
    (when, document, album) => {
      const policy = policyOf(when);
      if (policy === undefined) return;
      const first = judged(policy, document);
      if (first.kind === 'needs') expect(first.keys.length).toBeLessThanOrEqual(10);
      else expect(first.kind).toMatch(/^(allowed|refused)$/);
      judged(policy, document, album);
    },
  );

  fuzz(
    'readers of an album see its photos, and an album of another shape has no readers',
    1_000,
    [about('readers')],
    (album) => {
      const { kind } = judged(policyOf("auth.id in get('albums/' + album).readers")!, '{}', album);
      expect(kind).toBe(hasAnn(fieldOf(album, 'readers')) ? 'allowed' : 'refused');
    },
  );

  const written = fc.record({ album: about('readers'), after: fc.option(about('readers'), { nil: undefined }) });
  fuzz(
    'readers after a transaction are those that it writes, or else those of the album',
    1_000,
    [written],
    ({ album, after }) => {
      const policy = policyOf("auth.id in getAfter('albums/' + album).readers")!;
      const { kind } = judged(policy, '{}', album, after);
      expect(kind).toBe(hasAnn(fieldOf(after === undefined ? album : after, 'readers')) ? 'allowed' : 'refused');
    },
  );

  fuzz('a condition of what must not be refuses where an error leaves that open', 1_000, [about('banned')], (album) => {
    const { kind } = judged(policyOf("!(auth.id in get('albums/' + album).banned)")!, '{}', album);
    expect(kind).toBe(hasAnn(fieldOf(album, 'banned')) === false ? 'allowed' : 'refused');
  });

  fuzz(
    'an owner is the one that the document names, and without its field there is none',
    1_000,
    [about('owner')],
    (document) => {
      const { kind } = judged(policyOf('document.owner == auth.id')!, document);
      expect(kind).toBe(fieldOf(document, 'owner') === 'ann' ? 'allowed' : 'refused');
    },
  );
});
