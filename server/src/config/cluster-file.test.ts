import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IsochronError, Topology } from '@isochron/core';
import { clusterSpec, oneWayDelayMs, parseClusterFile, writeClusterFile } from './cluster-file.js';
import { ensureSecretFile, loadSecrets } from './secret.js';

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
  it('a cluster file is read with every default filled in', () => {
    const config = parseClusterFile(GOOD, 'cluster.yaml');
    expect(config.settings).toMatchObject({ applyIntervalMs: 10, maxTransactionMs: 30_000, durability: 'synced' });
    expect(config.settings.limits.maxKeysPerRequest).toBe(1000);
    expect(config.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(config.cluster).toMatch(/^c-[0-9a-f]{12}$/);
    expect(Topology.of(clusterSpec(config)).partitions).toHaveLength(8);
  });

  it('a cluster file names the keyspaces in which late writes take effect in order (F9)', () => {
    const late = (value: string) => GOOD.replace('name: default, ', `name: default, late: ${value}, `);
    expect([GOOD, late('time'), late('order')].map((text) => parseClusterFile(text, 'c').lateInOrder)).toEqual([
      [],
      [],
      ['default'],
    ]);
    expect(refusal(late('never'))).toMatch(/time or order/);
    expect(parseClusterFile(late('order'), 'c').cluster).toBe(parseClusterFile(GOOD, 'c').cluster);
  });

  it('a cluster file has one hash for equal contents, in any order of fields', () => {
    const reordered = GOOD.replace('name: default, partitions: 6', 'partitions: 6, name: default');
    expect(parseClusterFile(reordered, 'b').hash).toBe(parseClusterFile(GOOD, 'a').hash);
  });

  it.each([
    ['a limit', `${GOOD}settings: { limits: { maxValueBytes: 1000 } }\n`],
    ['an alert', `${GOOD}settings: { stalenessAlertMs: 2000 }\n`],
    ['an interval', `${GOOD}settings: { gossipIntervalMs: 6, applyIntervalMs: 7 }\n`],
    [
      'a time-out',
      `${GOOD}settings: { readTimeoutMs: 999, verifyTimeoutMs: 1, maxTransactionMs: 999, suspendAfterMs: 9 }\n`,
    ],
    ['memory and disk', `${GOOD}settings: { cacheBytes: 1, diskQuotaBytes: 1, durability: memory }\n`],
    ['an API address', GOOD.replace('127.0.0.1:7101', '10.0.0.1:80')],
    ['a peering address', GOOD.replace('127.0.0.1:7201', '10.0.0.1:81')],
    ['that late writes yield, which is the default', GOOD.replace('name: default, ', 'name: default, late: time, ')],
    ['an emulated delay', `${GOOD}wan: { oneWayMs: { "virginia<>oregon": 35.5 } }\n`],
  ])('cluster files may differ between nodes in %s', (_what, text) => {
    expect(text).not.toBe(GOOD);
    expect(parseClusterFile(text, 'c').hash).toBe(parseClusterFile(GOOD, 'a').hash);
  });

  it.each([
    ['its protocol', GOOD.replace('paris', 'bpr').replace('regions: [oregon]', 'regions: [virginia, oregon]')],
    ['its cluster id', `${GOOD}cluster: another\n`],
    ['the id of a region', GOOD.replace('id: virginia\n', 'id: dublin\n')],
    ['the id of a node', GOOD.replace('id: virginia-1', 'id: virginia-9')],
    ['its partitions', GOOD.replace('partitions: 6', 'partitions: 7')],
    ['its replication', GOOD.replace('replication: 2', 'replication: 1')],
    ['where a keyspace is held', GOOD.replace('regions: [oregon]', 'regions: [virginia]')],
    ['what late writes do (F9)', GOOD.replace('name: default, ', 'name: default, late: order, ')],
    ['how far clocks may differ', `${GOOD}settings: { maxClockDriftMs: 4000 }\n`],
    ['how long outcomes are kept', `${GOOD}settings: { outcomeRetentionMs: 4000 }\n`],
  ])('cluster files must agree between nodes in %s', (_what, text) => {
    const named = text.includes('cluster: another') ? text : `${text}cluster: mine\n`;
    expect(parseClusterFile(named, 'c').hash).not.toBe(parseClusterFile(`${GOOD}cluster: mine\n`, 'a').hash);
  });

  it('a cluster file has another hash under another protocol, so that nodes of both do not link', () => {
    const hashes = ['paris', 'bpr', 'nocc'].map((name) => parseClusterFile(GOOD.replace('paris', name), name).hash);
    expect(new Set(hashes).size).toBe(3);
  });

  it('a cluster file keeps its cluster id when only a setting changes', () => {
    const changed = parseClusterFile(`${GOOD}settings: { gossipIntervalMs: 6 }\n`, 'c');
    expect(changed.cluster).toBe(parseClusterFile(GOOD, 'a').cluster);
  });

  it('a cluster file that the writer writes is read back unchanged', () => {
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

  it('a cluster file may have URLs with TLS, for the API of some nodes and for the links of all', () => {
    const text = GOOD.replace('http://127.0.0.1:7101', 'https://api.example').replaceAll('ws://', 'wss://');
    const [first] = parseClusterFile(text, 'x').regions[0]!.nodes;
    expect(first).toMatchObject({ api: 'https://api.example', peer: 'wss://127.0.0.1:7201' });
  });

  it('a cluster file gives emulated delays in one direction or both', () => {
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
    bad(
      'API that is not http',
      'http://127.0.0.1:7101',
      'ftp://127.0.0.1',
      ':5: "ftp://127.0.0.1" must be http or https',
    ),
    bad(
      'peer that is not ws',
      'ws://127.0.0.1:7201',
      'http://127.0.0.1:7201',
      ':5: "http://127.0.0.1:7201" must be ws or wss',
    ),
    bad(
      'links with and without certificates',
      'ws://127.0.0.1:7202',
      'wss://127.0.0.1:7202',
      ':8: "wss://127.0.0.1:7202": the peer URLs of all nodes must be ws, or all must be wss',
    ),
    bad('address that is not a URL', 'ws://127.0.0.1:7201', 'nonsense', ':5: "nonsense" is not a URL'),
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
  ])('a cluster file is refused, with its line and the reason, for this fault: %s', (_what, text, message) => {
    expect(refusal(text)).toContain(`cluster.yaml${message}`);
  });

  it.each(['', '[]', 'hello', '{{{'])('a cluster file is refused when the whole file is %j', (text) => {
    expect(refusal(text)).toMatch(/^cluster\.yaml:1: /);
  });
});

describe('the cluster secret', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'isochron-secret-'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it('the cluster secret is made once, readable by its owner only', () => {
    const path = ensureSecretFile(join(dir, 'data'));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const made = readFileSync(path, 'utf8');
    expect(ensureSecretFile(join(dir, 'data'))).toBe(path);
    expect(readFileSync(path, 'utf8')).toBe(made);
    expect(loadSecrets({ secretFile: path })).toEqual({ secret: made.trim() });
  });

  it('the cluster secret comes from the environment unless a file is named', () => {
    expect(loadSecrets({ env: { ISOCHRON_SECRET: 'x'.repeat(16) } })).toEqual({ secret: 'x'.repeat(16) });
  });

  it('a secret file may have a second secret on its second line, which is accepted as well', () => {
    const path = join(dir, 'two');
    writeFileSync(path, `${'x'.repeat(16)}\n${'y'.repeat(16)}\n`, { mode: 0o600 });
    expect(loadSecrets({ secretFile: path })).toEqual({ secret: 'x'.repeat(16), secondSecret: 'y'.repeat(16) });
    for (const [text, why] of [
      [`${'x'.repeat(16)}\nshort`, '16 characters'],
      ['x'.repeat(16).concat('\n').repeat(3), 'more than two'],
    ] as const) {
      writeFileSync(path, text);
      expect(() => loadSecrets({ secretFile: path })).toThrow(why);
    }
  });

  it('the cluster secret is refused when it is missing, short or not readable', () => {
    expect(() => loadSecrets({ env: {} })).toThrow('ISOCHRON_SECRET');
    expect(() => loadSecrets({ env: { ISOCHRON_SECRET: 'short' } })).toThrow('16 characters');
    expect(existsSync(join(dir, 'none'))).toBe(false);
    expect(() => loadSecrets({ secretFile: join(dir, 'none') })).toThrow('cannot be read');
    writeFileSync(join(dir, 'open'), 'x'.repeat(16), { mode: 0o644 });
    expect(() => loadSecrets({ secretFile: join(dir, 'open') })).toThrow('chmod 600');
  });
});
