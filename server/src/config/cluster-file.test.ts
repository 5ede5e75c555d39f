import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IsochronError, Topology } from '@isochron/core';
import { clusterSpec, oneWayDelayMs, parseClusterFile, writeClusterFile } from './cluster-file.js';
import { ensureSecretFile, loadSecret } from './secret.js';

const GOOD = `protocol: paris
regions:
  - id: virginia
    nodes:
      - { id: virginia-1, api: "http://127.0.0.1:7101", peer: "ws://127.0.0.1:7201" }
  - id: oregon
    nodes:
      - { id: oregon-1, api: "http://127.0.0.1:7102", peer: "ws://127.0.0.1:7202" }
keyspaces:
  - { name: default, partitions: 6, replication: 2 }
  - { name: eu, partitions: 2, regions: [oregon] }
`;

function refusal(text: string): string {
  try {
    parseClusterFile(text, 'cluster.yaml');
  } catch (error) {
    if (error instanceof IsochronError && error.code === 'CONFIG_INVALID') return error.message;
    throw error;
  }
  throw new Error('the file was accepted');
}

describe('a cluster file', () => {
  it('is read with every default filled in', () => {
    const config = parseClusterFile(GOOD, 'cluster.yaml');
    expect(config.settings).toMatchObject({ applyIntervalMs: 10, maxTransactionMs: 30_000, durability: 'synced' });
    expect(config.settings.limits.maxKeysPerRequest).toBe(1000);
    expect(config.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(config.cluster).toMatch(/^c-[0-9a-f]{12}$/);
    expect(new Topology(clusterSpec(config)).partitions).toHaveLength(8);
  });

  it('has one hash for equal contents, whatever the order of fields, and another for any change', () => {
    const config = parseClusterFile(GOOD, 'a');
    const reordered = GOOD.replace('name: default, partitions: 6', 'partitions: 6, name: default');
    expect(parseClusterFile(reordered, 'b').hash).toBe(config.hash);
    expect(parseClusterFile(`${GOOD}settings: { gossipIntervalMs: 6 }\n`, 'c').hash).not.toBe(config.hash);
  });

  it('has another hash under another protocol, so that nodes of both do not talk', () => {
    const hashes = ['paris', 'bpr', 'nocc'].map((name) => parseClusterFile(GOOD.replace('paris', name), name).hash);
    expect(new Set(hashes).size).toBe(3);
  });

  it('keeps its cluster id when only a setting changes', () => {
    const changed = parseClusterFile(`${GOOD}settings: { gossipIntervalMs: 6 }\n`, 'c');
    expect(changed.cluster).toBe(parseClusterFile(GOOD, 'a').cluster);
  });

  it('is what the writer writes', () => {
    const file = {
      protocol: 'paris',
      cluster: 'mine',
      regions: [{ id: 'r', nodes: [{ id: 'n', api: 'http://127.0.0.1:1', peer: 'ws://127.0.0.1:2' }] }],
      keyspaces: [{ name: 'default', partitions: 1, replication: 1 }],
      settings: { durability: 'memory', limits: { maxKeyBytes: 100 } },
    };
    const text = writeClusterFile(file);
    expect(text).toMatch(/^# Isochron cluster file/);
    expect(parseClusterFile(text, 'x')).toMatchObject({
      cluster: 'mine',
      settings: { durability: 'memory', limits: { maxKeyBytes: 100, maxValueBytes: 1024 * 1024 } },
    });
  });

  it('gives emulated delays in one direction or both', () => {
    const config = parseClusterFile(`${GOOD}wan: { oneWayMs: { "virginia<>oregon": 35.5 } }\n`, 'x');
    expect([oneWayDelayMs(config, 'virginia', 'oregon'), oneWayDelayMs(config, 'oregon', 'virginia')]).toEqual([
      35.5, 35.5,
    ]);
    const directed = parseClusterFile(`${GOOD}wan: { oneWayMs: { "virginia>oregon": 1 } }\n`, 'x');
    expect([oneWayDelayMs(directed, 'virginia', 'oregon'), oneWayDelayMs(directed, 'oregon', 'virginia')]).toEqual([
      1, 0,
    ]);
  });
});

const bad = (what: string, from: string, to: string, message: string): [string, string, string] => {
  const text = GOOD.replace(from, to);
  if (text === GOOD) throw new Error(`the case "${what}" changes nothing`);
  return [what, text, message];
};

describe('a wrong cluster file is refused with its line and the reason', () => {
  it.each([
    bad(
      'unknown field',
      'replication: 2',
      'replicas: 2',
      ':10: unknown field "replicas"; known here: name, partitions',
    ),
    bad('unknown setting', 'keyspaces:', 'settings: { speed: 1 }\nkeyspaces:', ':9: unknown field "speed"'),
    bad('missing field', 'name: default, ', '', ':10: "keyspaces.0.name" is missing'),
    bad(
      'unknown protocol',
      'protocol: paris',
      'protocol: raft',
      ':1: unknown protocol "raft"; known: paris, bpr, nocc, wren, cure, h-cure',
    ),
    bad(
      'partial replication under a protocol that replicates fully',
      'protocol: paris',
      'protocol: cure',
      ':11: protocol "cure": ',
    ),
    bad('duplicate region', 'id: oregon\n', 'id: virginia\n', ':6: duplicate region id "virginia"'),
    bad('duplicate node', 'id: oregon-1', 'id: virginia-1', ':8: duplicate node id "virginia-1"'),
    bad('duplicate keyspace', 'name: eu', 'name: default', ':11: duplicate keyspace "default"'),
    bad('duplicate address', '127.0.0.1:7102', '127.0.0.1:7101', ':8: duplicate address "127.0.0.1:7101"'),
    bad('duplicate YAML field', 'protocol: paris', 'protocol: paris\nprotocol: paris', ':2: Map keys must be unique'),
    bad(
      'region without a node',
      `nodes:\n      - { id: oregon-1, api: "http://127.0.0.1:7102", peer: "ws://127.0.0.1:7202" }`,
      'nodes: []',
      ':7: "regions.1.nodes" is not valid: expected at least one node',
    ),
    bad(
      'replication above the regions',
      'replication: 2',
      'replication: 3',
      ':10: keyspace "default": replication 3 is above the number of regions, 2',
    ),
    bad(
      'unknown pinned region',
      'regions: [oregon]',
      'regions: [mars]',
      ':11: unknown region "mars"; known: virginia, oregon',
    ),
    bad(
      'pinned twice',
      'regions: [oregon]',
      'regions: [oregon, oregon]',
      ':11: duplicate region in keyspace "eu" "oregon"',
    ),
    bad('API that is not http', 'http://127.0.0.1:7101', 'ftp://127.0.0.1', ':5: "ftp://127.0.0.1" must be http'),
    bad(
      'peer that is not ws',
      'ws://127.0.0.1:7201',
      'http://127.0.0.1:7201',
      ':5: "http://127.0.0.1:7201" must be ws',
    ),
    bad(
      'API that would have to be encrypted',
      'http://127.0.0.1:7101',
      'https://127.0.0.1:7101',
      ':5: "https://127.0.0.1:7101": nodes do not serve TLS yet; write http:// and let nothing but this machine, a private network or a proxy reach it',
    ),
    bad(
      'peering that would have to be encrypted',
      'ws://127.0.0.1:7201',
      'wss://127.0.0.1:7201',
      ':5: "wss://127.0.0.1:7201": nodes do not serve TLS yet; write ws:// and let nothing but this machine, a private network or a proxy reach it',
    ),
    bad('address that is none', 'ws://127.0.0.1:7201', 'nonsense', ':5: "nonsense" is not a URL'),
    bad('bad name', 'name: eu', 'name: EU', ':11: "keyspaces.1.name" is not valid: expected keyspace name'),
    bad('too many partitions', 'partitions: 6', 'partitions: 4097', ':10: "keyspaces.0.partitions" is not valid'),
    bad('no partitions', 'partitions: 6', 'partitions: 0', ':10: "keyspaces.0.partitions" is not valid'),
    bad('broken YAML', 'regions:', 'regions: [', ':'),
    bad(
      'unknown pair',
      'keyspaces:',
      'wan: { oneWayMs: { "virginia>mars": 1 } }\nkeyspaces:',
      ':9: unknown region "mars"',
    ),
    bad(
      'values above requests',
      'keyspaces:',
      'settings: { limits: { maxRequestBytes: 2048 } }\nkeyspaces:',
      ':9: maxValueBytes 1048576 is above',
    ),
  ])('%s', (_what, text, message) => {
    expect(refusal(text)).toContain(`cluster.yaml${message}`);
  });

  it.each(['', '[]', 'hello', '{{{'])('the whole file is %j', (text) => {
    expect(refusal(text)).toMatch(/^cluster\.yaml:1: /);
  });
});

describe('the cluster secret', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'isochron-secret-'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it('is made once, readable by its owner only', () => {
    const path = ensureSecretFile(join(dir, 'data'));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const made = readFileSync(path, 'utf8');
    expect(ensureSecretFile(join(dir, 'data'))).toBe(path);
    expect(readFileSync(path, 'utf8')).toBe(made);
    expect(loadSecret({ secretFile: path })).toBe(made.trim());
  });

  it('comes from the environment where no file is named', () => {
    expect(loadSecret({ env: { ISOCHRON_SECRET: 'x'.repeat(16) } })).toBe('x'.repeat(16));
  });

  it('is refused when it is missing, short or not readable', () => {
    expect(() => loadSecret({ env: {} })).toThrow('ISOCHRON_SECRET');
    expect(() => loadSecret({ env: { ISOCHRON_SECRET: 'short' } })).toThrow('16 characters');
    expect(existsSync(join(dir, 'none'))).toBe(false);
    expect(() => loadSecret({ secretFile: join(dir, 'none') })).toThrow('cannot be read');
  });
});
