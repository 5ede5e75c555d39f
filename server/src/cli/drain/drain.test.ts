import { CliNodes, ran } from '../../../testing/cli-nodes.js';
import { request } from '../status/request.js';

jest.mock('../status/request.js', () => ({
  ...jest.requireActual('../status/request.js'),
  request: jest.fn(),
}));

describe('isochron drain', () => {
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

  const run = (...args: string[]) => ran('drain', '--endpoint', 'http://127.0.0.1:7101', ...args);

  it('isochron drain asks the named node, and states what to do next', async () => {
    nodes.node(7102).staying = undefined;
    expect(await run('virginia-2')).toEqual({
      exitCode: 0,
      stdout: 'virginia-2 has left the members: stop it, or bring it back with isochron drain virginia-2 --end\n',
      stderr: '',
    });
  });

  it('isochron drain --end brings the node back', async () => {
    nodes.node(7102).staying = undefined;
    expect(await run('virginia-2', '--end')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('becomes a member again'),
    });
    expect(nodes.node(7102).staying).toBe('returns');
  });

  it('isochron drain fails with the reason when the node stays a member', async () => {
    nodes.node(7102).staying = 'only-replica';
    const { exitCode, stdout, stderr } = await run('virginia-2');
    expect([exitCode, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/virginia-2 stays a member: no other member has a replica/);
    const answer = '{"node":"virginia-2","member":true,"why":"only-replica"}\n';
    expect(await run('virginia-2', '--json')).toMatchObject({ exitCode: 1, stdout: answer });
  });

  it('isochron drain names the nodes of the cluster when it is given another one', async () => {
    const { exitCode, stderr } = await run('nowhere-1');
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/no node "nowhere-1"; its nodes are virginia-1, virginia-2/);
  });

  it('isochron drain takes no answer of another node', async () => {
    nodes.node(7102).staying = undefined;
    nodes.answerAlsoAt(7103, 7102);
    const { exitCode, stderr } = await run('oregon-1');
    expect(exitCode).toBe(1);
    expect(stderr).toContain('another node answers there: virginia-2');
  });
});
