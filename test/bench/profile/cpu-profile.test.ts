import { busiestFunctions, profileText, sharesByPart } from './cpu-profile.js';
import { NODE_PARTS, partOf } from './parts.js';

describe('a CPU profile', () => {
  const frame = (id: number, functionName: string, url = '') => ({
    id,
    callFrame: { functionName, url, lineNumber: 6 },
  });
  const profile = {
    nodes: [
      frame(1, '(idle)'),
      frame(2, 'read', 'file:///home/me/it/packages/storage/dist/store.js'),
      frame(3, '(garbage collector)'),
      frame(4, 'read', 'file:///home/me/it/packages/storage/dist/store.js'),
    ],
    samples: [1, 2, 3, 4],
    timeDeltas: [9000, 500, 100, 400],
  };

  it('a CPU profile is summed over the callers of a function, without idle time', () => {
    const [first, second] = busiestFunctions(profile, 5);
    expect(first).toEqual({ name: 'read storage/dist/store.js:7', share: 0.9 });
    expect(second?.share).toBeCloseTo(0.1);
    expect(busiestFunctions(profile, 1)).toHaveLength(1);
  });

  it('a CPU profile is printed with the name of its process', () => {
    expect(profileText('node', busiestFunctions(profile, 1))).toBe('node:\n   90.0 %  read storage/dist/store.js:7');
  });

  it('a CPU profile is divided among parts of the system: a file to its part, a built-in to its caller, idle time to none', () => {
    const node = (id: number, functionName: string, url: string, children: number[] = []) => ({
      ...frame(id, functionName, url),
      children,
    });
    const file = (path: string): string => `file:///home/me/it/${path}`;
    const profile = {
      nodes: [
        node(1, '(root)', '', [2, 3, 4, 5, 7, 8]),
        node(2, '(idle)', ''),
        node(3, '(program)', ''),
        node(4, '(garbage collector)', ''),
        node(5, 'commit', file('packages/storage/dist/commit-job.js'), [6]),
        node(6, 'put', ''),
        node(7, 'step', file('packages/protocols/dist/kernel/transactions/cohort.js')),
        node(8, 'what', file('elsewhere.js')),
      ],
      samples: [2, 3, 4, 5, 6, 7, 8],
      timeDeltas: [9000, 100, 50, 250, 250, 300, 50],
    };
    expect(Object.fromEntries(sharesByPart(profile, NODE_PARTS))).toEqual({
      'event loop (native)': 0.1,
      collection: 0.05,
      storage: 0.5,
      cohort: 0.3,
      other: 0.05,
    });
  });
});

describe('the part of a file', () => {
  it.each([
    ['packages/storage/dist/level-store.js', 'storage'],
    ['node_modules/classic-level/index.js', 'storage'],
    ['node_modules/ws/lib/sender.js', 'sockets'],
    ['packages/transport/dist/link.js', 'sockets'],
    ['packages/sessions/dist/served/served-connection.js', 'session frames'],
    ['packages/sessions/dist/tokens/session-token.js', 'tokens'],
    ['packages/protocols/dist/kernel/transactions/reads.js', 'coordinator and reads'],
    ['packages/protocols/dist/kernel/transactions/cohort.js', 'cohort'],
    ['packages/protocols/dist/kernel/replication/stabilization.js', 'replication and stabilisation'],
    ['packages/protocols/dist/host.js', 'glue'],
    ['server/dist/node/node.js', 'glue'],
  ])('the file %s belongs to the part %s', (path, part) => {
    expect(partOf(NODE_PARTS, `file:///home/me/it/${path}`)).toBe(part);
  });

  it.each([
    ['node:net', 'sockets'],
    ['node:internal/stream_base_commons', 'sockets'],
    ['node:internal/crypto/hash', 'tokens'],
    ['node:internal/timers', 'glue'],
  ])('the built-in module %s belongs to the part %s', (url, part) => {
    expect(partOf(NODE_PARTS, url)).toBe(part);
  });
});
