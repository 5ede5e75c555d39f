/**
 * The cluster file: any content gives a configuration or `CONFIG_INVALID` with a line, within bounds of time and
 * memory.
 */
import { IsochronError } from '@isochron/core';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { type ClusterConfig, parseClusterFile } from '../../server/src/config/cluster-file.js';
import { damaged, damages } from './damage.js';
import { fuzz } from './fuzz.js';
import { hostileValue, place, replaced } from './hostile.js';

const GOOD = `# A cluster of two regions.
protocol: paris
cluster: testing
regions:
  - id: virginia
    nodes:
      - { id: virginia-1, api: "http://127.0.0.1:7101", peer: "ws://127.0.0.1:7201" }
      - { id: virginia-2, api: "http://127.0.0.1:7102", peer: "ws://127.0.0.1:7202" }
  - id: oregon
    nodes: [{ id: oregon-1, api: "http://127.0.0.1:7103", peer: "ws://127.0.0.1:7203" }]
keyspaces:
  - { name: default, partitions: 4, replication: 2 }
  - { name: eu, partitions: 1, regions: [oregon] }
settings: { retentionMs: 1000, durability: memory, limits: { maxKeyBytes: 100 } }
wan: { oneWayMs: { "virginia<>oregon": 40 } }
`;

/** The configuration, or undefined when the file was refused with the right code. */
function read(text: string): ClusterConfig | undefined {
  try {
    return parseClusterFile(text, 'cluster.yaml');
  } catch (error) {
    if (!(error instanceof IsochronError)) throw error;
    expect(error.code).toBe('CONFIG_INVALID');
    expect(error.message).toMatch(/^cluster\.yaml:\d+: ./);
    expect(error.message).not.toContain('\n');
    expect(error.message.length).toBeLessThan(600);
    return undefined;
  }
}

/** The properties of an accepted configuration that a node relies on. */
function sound(config: ClusterConfig): void {
  const nodes = config.regions.flatMap((region) => region.nodes);
  for (const { id, api, peer } of nodes) {
    expect(id).toMatch(/^[a-z0-9][a-z0-9-]{0,31}$/);
    expect([new URL(api).protocol, new URL(peer).protocol]).toEqual(['http:', 'ws:']);
  }
  expect(new Set(nodes.map(({ id }) => id)).size).toBe(nodes.length);
  for (const { partitions, replication = 1, regions = config.regions.map(({ id }) => id) } of config.keyspaces) {
    expect(Number.isInteger(partitions) && partitions > 0 && partitions <= 4096).toBe(true);
    expect(regions.length).toBeGreaterThanOrEqual(replication);
    for (const region of regions) expect(config.regions.map(({ id }) => id)).toContain(region);
  }
  for (const setting of Object.values(config.settings)) {
    if (typeof setting === 'number') expect(Number.isSafeInteger(setting) && setting >= 0).toBe(true);
  }
  expect(config.hash).toMatch(/^[0-9a-f]{64}$/);
}

const readSoundly = (text: string): void => {
  const config = read(text);
  if (config !== undefined) sound(config);
};

/** Lines and fragments with a meaning in YAML. */
const PIECES = [
  '- ',
  '? ',
  ': ',
  '{',
  '}',
  '[',
  ']',
  '&a ',
  '*a',
  '<<: *a',
  '!!str ',
  '!!set ',
  '!!binary ',
  '!x ',
  '|',
  '>',
  '"',
  "'",
  '#',
  '%YAML 1.1\n',
  '---\n',
  '...\n',
  '\t',
  '\r\n',
  '~',
  '0x1F',
  '1e309',
  '.nan',
  '2001-01-01',
  '\u2028',
  '\ufeff',
  '\0',
  '\u{1f600}',
  '__proto__: {}',
  'constructor: 1',
];

describe('the cluster file', () => {
  it('a correct cluster file is accepted', () => sound(read(GOOD)!));

  fuzz(
    'a cluster file of arbitrary text is refused',
    500,
    [fc.oneof(fc.string(), fc.string({ unit: 'binary' }))],
    (text) => {
      expect(read(text)).toBeUndefined();
    },
  );

  fuzz('a cluster file with damaged bytes is refused, or gives a sound configuration', 200, [damages], (changes) => {
    readSoundly(Buffer.from(damaged(Buffer.from(GOOD), changes)).toString('utf8'));
  });

  const insertions = fc.array(fc.tuple(fc.nat({ max: GOOD.length }), fc.constantFrom(...PIECES)), {
    minLength: 1,
    maxLength: 4,
  });
  fuzz(
    'a cluster file with pieces of YAML in the wrong place is refused, or gives a sound configuration',
    300,
    [insertions],
    (pieces) => {
      readSoundly(pieces.reduce((text, [at, piece]) => text.slice(0, at) + piece + text.slice(at), GOOD));
    },
  );

  const lines = fc.array(fc.tuple(fc.nat({ max: 14 }), fc.nat({ max: 14 })), { minLength: 1, maxLength: 4 });
  fuzz(
    'a cluster file with lines that are doubled or moved is refused, or gives a sound configuration',
    200,
    [lines],
    (moves) => {
      const text = GOOD.split('\n');
      for (const [from, to] of moves) text.splice(to, 0, text[from % text.length]!);
      readSoundly(text.join('\n'));
    },
  );

  fuzz(
    'a cluster file with values of the wrong kind is refused, or gives a sound configuration',
    200,
    [fc.array(fc.tuple(place, hostileValue), { minLength: 1, maxLength: 2 })],
    (parts) => {
      const file = parts.reduce((plain, [at, value]) => replaced(plain, at, () => value), parse(GOOD));
      let text: string;
      try {
        text = stringify(file) ?? ''; // undefined has no text
      } catch {
        return fc.pre(false); // not a YAML value
      }
      return readSoundly(text);
    },
  );

  it.each<[string, string]>([
    ['aliases that stand for a billion parts', bomb(9, 10)],
    ['aliases in aliases without end', 'protocol: &a [*a]\n'],
    ['merges of aliases', `${bomb(9, 10)}settings:\n  <<: *a8\n`],
    ['lists in lists', `protocol: ${'['.repeat(50_000)}${']'.repeat(50_000)}`],
    ['maps in maps', `protocol: ${'{a: '.repeat(50_000)}${'}'.repeat(50_000)}`],
    ['indented maps in maps', Array.from({ length: 700 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')],
    ['sequences in sequences', `${'- '.repeat(50_000)}1`],
    ['keys in keys', `${'? '.repeat(50_000)}1`],
    ['a file of 50 MB', `# ${'x'.repeat(50_000_000)}\n${GOOD}`],
    ['a million nodes', `regions:\n- nodes:\n${'  - {id: a}\n'.repeat(1_000_000)}`],
    ['a long name', GOOD.replace('testing', 'x'.repeat(200_000))],
    ['several documents', `${GOOD}---\n${GOOD}`],
    ['a key twice', `${GOOD}protocol: paris\n`],
    ['a field that every object has', `${GOOD}__proto__: { partitions: 1 }\n`],
    ['another one', `${GOOD}constructor: 1\n`],
    ['a tag that makes something', GOOD.replace('paris', '!!js/function "function () {}"')],
    ['nothing', ''],
    ['null', '~'],
    ['a list', '[]'],
  ])('the cluster file is refused with %s', (_, text) => {
    const before = process.memoryUsage().heapUsed;
    expect(read(text)).toBeUndefined();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200 * 2 ** 20);
    expect(Reflect.get({}, 'partitions')).toBeUndefined();
  });
});

/** `levels` lists, each `width` times as long as the one before. */
function bomb(levels: number, width: number): string {
  const text = ['a0: &a0 lol\n'];
  for (let i = 1; i < levels; i++)
    text.push(
      `a${i}: &a${i} [${Array(width)
        .fill(`*a${i - 1}`)
        .join(',')}]\n`,
    );
  return text.join('');
}
