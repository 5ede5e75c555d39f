import { stripVTControlCharacters } from 'node:util';
import { packWall } from '@isochron/core';
import { CliNodes, ran } from '../../../testing/cli-nodes.js';
import { request } from '../status/request.js';

jest.mock('../status/request.js', () => ({
  ...jest.requireActual('../status/request.js'),
  request: jest.fn(),
}));

describe('isochron nodes', () => {
  let nodes: CliNodes;

  beforeEach(async () => {
    nodes = new CliNodes(jest.requireActual('../status/request.js').request);
    await nodes.add('virginia-1', 7101);
    await nodes.add('virginia-2', 7102);
    jest.mocked(request).mockImplementation(nodes.request);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await nodes.close();
  });

  const run = (...args: string[]) => ran('nodes', ...args, '--endpoint', 'http://127.0.0.1:7101');

  it('isochron nodes lists every node with its state, since when, and what waits for it', async () => {
    const sinceMs = Date.UTC(2026, 2, 1, 4, 5, 6);
    const absences = [{ node: 'oregon-1', since: packWall(sinceMs), isOrdered: false }];
    nodes.node(7101).mapStatus = { version: 4, away: ['oregon-1'], suspended: ['oregon-1'], absences };
    nodes.node(7101).mapStatus = { ...nodes.node(7101).mapStatus, deferred: 3, deferredFor: { 'oregon-1': 2 } };
    nodes.node(7102).mapStatus = { version: 3, deferredFor: { 'oregon-1': 1 } };
    const { exitCode, stdout } = await run();
    expect(exitCode).toBe(0);
    const lines = stripVTControlCharacters(stdout).split('\n');
    const cells = (id: string) =>
      lines
        .find((line) => line.includes(` ${id} `))!
        .split('│')
        .slice(1, -1)
        .map((cell) => cell.trim());
    expect(lines[0]).toMatch(/^cluster \S+, map 4$/);
    expect(cells('virginia-1')).toEqual(['virginia', 'virginia-1', 'active', '', '', '3', '0']);
    expect(cells('oregon-1')).toEqual([
      'oregon',
      'oregon-1',
      'suspended',
      '2026-03-01 04:05:06',
      'it did not answer',
      '-',
      '3',
    ]);
  });

  it('isochron nodes --json has the same, with times that a program reads', async () => {
    const absences = [{ node: 'oregon-1', since: packWall(Date.UTC(2026, 2, 1)), isOrdered: true }];
    nodes.node(7101).mapStatus = { version: 1, away: ['oregon-1'], suspended: ['oregon-1'], absences };
    const { stdout } = await run('--json');
    const answer = JSON.parse(stdout) as { map: number; nodes: { node: string }[] };
    expect(answer.map).toBe(1);
    expect(answer.nodes.find(({ node }) => node === 'oregon-1')).toEqual({
      region: 'oregon',
      node: 'oregon-1',
      state: 'suspended',
      since: '2026-03-01T00:00:00.000Z',
      why: 'an operator ordered it',
      deferredHere: null,
      deferredFor: 0,
    });
  });

  it.each([
    ['suspend', ['--yes'], 'suspended; stable time goes on without'],
    ['hold', ['--yes'], 'kept away until "isochron nodes return"'],
    ['return', [], 'held no longer'],
    ['evict', ['--yes'], 'evicted for ever; "isochron losses" lists'],
  ])(
    'isochron nodes %s gives the order to the node that answers, and states what follows',
    async (action, args, text) => {
      const { exitCode, stdout, stderr } = await run(action, 'virginia-2', 'oregon-1', ...args);
      expect([exitCode, stderr]).toEqual([0, '']);
      expect(stdout).toContain(`virginia-2, oregon-1: ${text}`);
      expect(nodes.node(7101).ordered).toEqual([[action, 'virginia-2', 'oregon-1']]);
    },
  );

  it.each([
    ['away', /no members already: oregon-1; "isochron nodes hold oregon-1"/],
    ['held', /held already: oregon-1; "isochron nodes return oregon-1"/],
    ['not-held', /not held: oregon-1; a suspended node returns by itself/],
    ['member', /are members: oregon-1; suspend them first/],
    ['evicted', /evicted for ever: oregon-1/],
    ['answers', /oregon-1 answer, .*let them return, or stop their processes/],
    ['rebuilding', /while oregon-1 fill lost disks, .*repeat the command/],
    ['no-majority', /a majority of the voters, and these are missing: oregon-1; bring them back first/],
    ['silent', /a member does not answer: oregon-1; suspend them in the same command/],
    ['only-replica', /all of the data of oregon-1, .*bring back others first/],
    ['another-order', /carries out another order; repeat the command/],
    ['late', /it may still be: look at "isochron nodes" and repeat/],
  ] as const)('an order that is refused fails with the reason and what to do: %s', async (why, sentence) => {
    nodes.node(7101).outcome = { why, nodes: ['oregon-1'] };
    const { exitCode, stdout, stderr } = await run('suspend', 'oregon-1', '--yes');
    expect([exitCode, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^error: NOT_READY: /);
    expect(stderr).toMatch(sentence);
    expect(JSON.parse((await run('suspend', 'oregon-1', '--yes', '--json')).stdout)).toMatchObject({ why });
  });

  it('a node that the cluster does not have is refused with the names of its nodes: it may be of another cluster', async () => {
    const { exitCode, stderr } = await run('hold', 'oregon-1', 'nowhere-1', '--yes');
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/the cluster \S+ has no node "nowhere-1"; its nodes are virginia-1, virginia-2, oregon-1/);
    expect(nodes.node(7101).ordered).toEqual([]);
  });

  it('an order that defers or loses data is given only with --yes where no terminal can ask', async () => {
    for (const action of ['suspend', 'hold', 'evict']) {
      const { exitCode, stderr } = await run(action, 'oregon-1');
      expect(exitCode).toBe(2);
      expect(stderr).toMatch(/oregon-1 of the cluster \S+ will be .*; without a terminal, add --yes/);
    }
    expect(nodes.node(7101).ordered).toEqual([]);
  });

  it('isochron nodes fails where no node answers, and takes no answer of another node', async () => {
    const at = (port: number) => ran('nodes', 'return', 'oregon-1', '--endpoint', `http://127.0.0.1:${port}`);
    expect(await at(7999)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('CONNECTION_LOST') });
    nodes.answerAlsoAt(7103, 7102);
    nodes.answerAlsoAt(7102, 7101);
    expect(await at(7103)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('another node answers there: virginia-1'),
    });
  });
});
