import { parseClusterFile } from '../config/cluster-file.js';
import { cacheBytesOf, processMemory } from './memory.js';

const GIB = 2 ** 30;
const file = (peers: readonly string[], settings = '') =>
  parseClusterFile(
    `protocol: paris
regions:
  - id: one
    nodes:
${peers.map((peer, i) => `      - { id: n${i}, api: 'http://${peer}:70${i}0', peer: 'ws://${peer}:71${i}0' }`).join('\n')}
keyspaces: [{ name: default, partitions: 8 }]
${settings}`,
    'cluster.yaml',
  );
const alone = file(['a.example']);

describe('the memory that the keys of a node take', () => {
  it('keys take a quarter of the memory of the machine where the cluster file sets no limit', () => {
    expect(cacheBytesOf(alone, 'n0', { machine: 16 * GIB, container: undefined })).toBe(4 * GIB);
  });

  it('keys take a quarter of the memory of the container where there is one', () => {
    expect(cacheBytesOf(alone, 'n0', { machine: 16 * GIB, container: 2 * GIB })).toBe(GIB / 2);
  });

  it('nodes at the same host share its memory', () => {
    const config = file(['a.example', 'b.example', 'a.example', 'a.example']);
    const shares = ['n0', 'n1', 'n2', 'n3'].map((node) =>
      cacheBytesOf(config, node, { machine: 12 * GIB, container: undefined }),
    );
    expect(shares).toEqual([GIB, 3 * GIB, GIB, GIB]);
  });

  it('keys take 64 MiB at least', () => {
    expect(cacheBytesOf(alone, 'n0', { machine: 16 * GIB, container: GIB / 16 })).toBe(64 * 2 ** 20);
  });

  it('keys take 16 GiB at most', () => {
    expect(cacheBytesOf(alone, 'n0', { machine: 1024 * GIB, container: undefined })).toBe(16 * GIB);
  });

  it('the limit of the cluster file is what keys take', () => {
    const config = file(['a.example'], 'settings: { cacheBytes: 1000 }');
    expect(cacheBytesOf(config, 'n0', { machine: 16 * GIB, container: GIB })).toBe(1000);
  });

  it('the memory of this process is known, and a limit is below that of the machine', () => {
    const { machine, container } = processMemory();
    expect(machine).toBeGreaterThan(2 ** 28);
    expect(container ?? machine).toBeLessThanOrEqual(machine);
    expect(container ?? machine).toBeGreaterThan(0);
  });
});
