import { packWall } from '@isochron/core';
import type { Loss } from '@isochron/protocols';
import { CliNodes, ran } from '../../../testing/cli-nodes.js';
import { request } from '../status/request.js';
import { type ClusterLoss, unionOf } from './collect.js';
import type { LossAnswer } from './shape.js';
import { renderLosses } from './table.js';

jest.mock('../status/request.js', () => ({
  ...jest.requireActual('../status/request.js'),
  request: jest.fn(),
}));

const id = (n: number) => `abcdefghijklmnopqrstuv.${n}`;
const timestamp = (n: number) => packWall(Date.UTC(2026, 0, 1) + n);

describe('what several nodes report of one transaction', () => {
  const answer = (n: number, changes: Partial<LossAnswer> = {}): LossAnswer => ({
    transaction: id(n),
    timestamp: timestamp(n),
    committed: true,
    takenBack: true,
    node: 'oregon-1',
    partitions: ['default/0'],
    keys: [{ keyspace: 'default', key: 'a' }],
    acknowledged: true,
    ...changes,
  });

  it('a transaction that several nodes report is one loss, with the keys and partitions of all', () => {
    const keys = [
      { keyspace: 'default', key: 'a' },
      { keyspace: 'default', key: 'b' },
    ];
    const other = answer(1, { timestamp: 5, committed: false, keys, partitions: ['default/1'], node: 'ireland-1' });
    const union = unionOf([
      { node: 'virginia-1', losses: [answer(1), answer(2)] },
      { node: 'virginia-2', losses: [other] },
    ]);
    expect(union.map(({ transaction }) => transaction)).toEqual([id(2), id(1)]);
    expect(union[1]).toEqual({
      transaction: id(1),
      timestamp: timestamp(1),
      committed: true,
      takenBack: true,
      lostDisks: ['oregon-1', 'ireland-1'],
      partitions: ['default/0', 'default/1'],
      keys,
      acknowledged: true,
      reportedBy: ['virginia-1', 'virginia-2'],
    });
  });

  it('a loss is open while one node has it open, and kept where one node kept a part', () => {
    const union = unionOf([
      { node: 'virginia-1', losses: [answer(1), answer(2)] },
      { node: 'virginia-2', losses: [answer(1, { acknowledged: false }), answer(2, { takenBack: false })] },
    ]);
    expect(union.map(({ acknowledged, takenBack }) => [acknowledged, takenBack])).toEqual([
      [true, false],
      [false, true],
    ]);
  });
});

describe('the table of losses', () => {
  const shown: ClusterLoss = {
    transaction: id(1),
    timestamp: timestamp(1),
    committed: true,
    takenBack: false,
    lostDisks: ['oregon-1'],
    partitions: ['default/0'],
    keys: Array.from({ length: 8 }, (_, i) => ({ keyspace: 'default', key: `k${i}` })),
    acknowledged: false,
    reportedBy: ['virginia-1'],
  };

  it('the table of losses shows transaction, commit time, node, some keys and the state', () => {
    const text = renderLosses([shown]);
    for (const part of [
      id(1),
      '2026-01-01T00:00:00.001Z',
      'oregon-1',
      'default/k4',
      'and 3 more',
      'committed, part is gone',
    ])
      expect(text).toContain(part);
    expect(text).not.toContain('default/k5');
    expect(text).toMatch(/1 of 1 losses are not acknowledged$/);
  });

  it('the table of losses marks uncertain facts', () => {
    const text = renderLosses([{ ...shown, committed: false, takenBack: true, acknowledged: true, keys: [] }]);
    for (const part of ['(proposed)', 'undecided, taken back', '(acknowledged)', 'unknown', '0 of 1 losses'])
      expect(text).toContain(part);
  });

  it('the table of losses lets no key control the terminal', () => {
    expect(renderLosses([{ ...shown, keys: [{ keyspace: 'default', key: '\x1b[2Jx' }] }])).toContain('default/ [2Jx');
  });

  it('the table of losses is one line for an empty list', () => {
    expect(renderLosses([])).toBe('no losses');
  });
});

describe('isochron losses', () => {
  const loss = (n: number, changes: Partial<Loss> = {}): Loss => ({
    txId: id(n),
    ts: timestamp(n),
    attempt: 0,
    committed: true,
    takenBack: false,
    node: 'oregon-1',
    partitions: [0],
    keys: [`default/k${n}`],
    acknowledged: false,
    overtaken: false,
    ...changes,
  });
  /** The nodes of virginia; the node of oregon does not answer, unless a test adds it. */
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

  const run = (...args: string[]) => ran('losses', '--endpoint', 'http://127.0.0.1:7101', ...args);

  it('isochron losses lists the losses of all nodes that answer, and names the nodes that do not', async () => {
    nodes.node(7101).lose(loss(1), loss(2, { acknowledged: true }));
    nodes.node(7102).lose(loss(1, { partitions: [2], keys: ['default/other'] }), loss(3));
    const { exitCode, stdout, stderr } = await run();
    expect(exitCode).toBe(0);
    for (const part of [id(1), id(3), 'default/k1', 'default/other', '2 of 2 losses are not'])
      expect(stdout).toContain(part);
    expect(stdout).not.toContain(id(2));
    expect(stderr).toMatch(/^oregon-1 does not answer: .*\n$/);
    const { nodes: asked, losses } = JSON.parse((await run('--all', '--json')).stdout);
    expect(losses.map((one: ClusterLoss) => [one.transaction, one.acknowledged, one.reportedBy])).toEqual([
      [id(3), false, ['virginia-2']],
      [id(2), true, ['virginia-1']],
      [id(1), false, ['virginia-1', 'virginia-2']],
    ]);
    expect(asked.map(({ node, error }: { node: string; error: string | null }) => [node, error === null])).toEqual([
      ['virginia-1', true],
      ['virginia-2', true],
      ['oregon-1', false],
    ]);
  });

  it('isochron losses acknowledges on every node, and fails when one does not answer, naming it', async () => {
    nodes.node(7101).lose(loss(1), loss(2));
    nodes.node(7102).lose(loss(1));
    const { exitCode, stdout, stderr } = await run('--acknowledge', id(1));
    expect([exitCode, stdout]).toEqual([1, 'virginia-1: 1 acknowledged, 1 left\nvirginia-2: 1 acknowledged, 0 left\n']);
    expect(stderr).toMatch(/\nerror: CONNECTION_LOST: oregon-1 acknowledged nothing; repeat .*\n$/);
    await nodes.add('oregon-1', 7103);
    const all = await run('--acknowledge', '--all', '--json');
    expect([all.exitCode, all.stderr]).toEqual([0, '']);
    expect(JSON.parse(all.stdout).nodes).toMatchObject([
      { node: 'virginia-1', acknowledged: 1, open: 0, error: null },
      { node: 'virginia-2', acknowledged: 0, open: 0 },
      { node: 'oregon-1', acknowledged: 0, open: 0 },
    ]);
    expect((await run()).stdout).toBe('no losses\n');
  });

  it('isochron losses takes no answer of another node', async () => {
    nodes.answerAlsoAt(7103, 7102);
    expect((await run()).stderr).toContain('oregon-1 does not answer: another node answers there: virginia-2');
  });
});
