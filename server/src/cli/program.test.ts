import type { Command } from 'commander';
import { ran as run } from '../../testing/cli-nodes.js';
import { buildProgram } from './program.js';

const COMMANDS = [
  'dev',
  'node',
  'get',
  'set',
  'update',
  'claim',
  'delete',
  'list',
  'commit',
  'changes',
  'transaction',
  'import',
  'export',
  'status',
  'losses',
  'drain',
  'nodes',
  'bench',
  'certs',
  'rules',
  'keys',
];

describe('isochron', () => {
  it('isochron has every command', () => {
    expect(buildProgram().commands.map((command: Command) => command.name())).toEqual(COMMANDS);
  });

  it.each(COMMANDS)('isochron explains "%s" with examples', async (name) => {
    const { exitCode, stdout } = await run(name, '--help');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(new RegExp(`Examples:\\n.*isochron ${name}`, 's'));
  });

  it.each(COMMANDS.filter((name) => !['node', 'nodes', 'certs', 'rules', 'keys'].includes(name)))(
    'isochron has --json for "%s"',
    async (name) => {
      expect((await run(name, '--help')).stdout).toContain('--json');
    },
  );

  it.each([
    { what: 'an unknown command', args: ['nope'] },
    { what: 'an unknown option', args: ['dev', '--nope'] },
    { what: 'a missing argument', args: ['get'] },
    { what: 'too many arguments', args: ['get', 'a', 'b'] },
    { what: 'a missing option', args: ['node', '--node', 'a'] },
    { what: 'a word in place of a number', args: ['dev', '--partitions', 'six'] },
    {
      what: 'a region without measured delays',
      args: ['dev', '--regions', 'berlin', '--replication', '1', '--wan', 'aws'],
    },
    { what: 'more replicas than regions', args: ['dev', '--regions', 'oregon', '--replication', '2'] },
    { what: 'two sessions at once', args: ['get', 'a', '--token-file', '/dev/null', '--session-file', 'f'] },
    { what: 'an acknowledgement without ids or --all', args: ['losses', '--acknowledge'] },
    { what: 'an acknowledgement of some and of all', args: ['losses', '--all', '--acknowledge', 'a'] },
    { what: 'an acknowledgement of an invalid transaction id', args: ['losses', '--acknowledge', 'a'] },
    { what: 'two beginnings of the change feed', args: ['changes', '--since', 'a', '--at', '5'] },
    { what: 'a prefix of changes without its keyspace', args: ['changes', '--prefix', 'a'] },
    { what: 'CSV without a key', args: ['import', 'rows.csv'] },
  ])('isochron exits with 2 and one line for $what', async ({ args }) => {
    const { exitCode, stdout, stderr } = await run(...args);
    expect({ exitCode, stdout, lines: stderr.split('\n').length }).toEqual({ exitCode: 2, stdout: '', lines: 2 });
    expect(stderr).toMatch(/^error: /);
  });

  it('isochron exits with 1 and the code for a cluster that does not answer', async () => {
    const { exitCode, stderr } = await run('status', '--endpoint', 'http://127.0.0.1:1');
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^error: CONNECTION_LOST: .*127\.0\.0\.1:1.*\n$/);
  });

  it('isochron exits with 1 for a file that does not exist', async () => {
    // A worker of the test runner has a channel to its parent too, which a node would take for its supervisor's.
    const { send } = process;
    Reflect.deleteProperty(process, 'send');
    const { exitCode, stderr } = await run('node', '--config', '/nowhere/cluster.yaml', '--node', 'a');
    if (send !== undefined) process.send = send;
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: 'error: ENOENT: /nowhere/cluster.yaml does not exist\n',
    });
  });
});
