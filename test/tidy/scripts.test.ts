import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Repository } from './repository.js';
import { helpFindings, refusalFindings, type ScriptEnd } from './scripts.js';

const repository = new Repository(join(__dirname, '../..'));
const scripts = Object.entries(JSON.parse(repository.read('package.json')).scripts as Record<string, string>);

/** The script passes the options that it does not know to Jest. */
const refusing = scripts.filter(([name]) => name !== 'test');

const UNKNOWN = '--no-such-option';
/** A script that takes an unknown option begins its work: it is ended. */
const LIMIT_MS = 50_000;

function end(command: string, argument: string): Promise<ScriptEnd> {
  const options = { cwd: repository.root, timeout: LIMIT_MS };
  const child = spawn('sh', ['-c', `${command} ${argument}`], options);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdin.end();
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })));
}

describe('the scripts of package.json', () => {
  it('the scripts of package.json are found', () => {
    expect(scripts.length).toBeGreaterThan(15);
  });

  it.each(scripts)('npm run %s prints usage, options and exit codes with --help', async (name, command) => {
    expect(helpFindings(name, await end(command, '--help'))).toEqual([]);
  });

  it.each(refusing)('npm run %s refuses an unknown option', async (name, command) => {
    expect(refusalFindings(name, UNKNOWN, await end(command, UNKNOWN))).toEqual([]);
  });

  it('a help without exit codes, and a script that ignores its arguments, are found', () => {
    const help = 'Usage: x\n\nOptions:\n  --a     b\n  -h, --help  help\n';
    expect(helpFindings('x', { code: 0, stdout: `${help}\nExit code: 0 done.\n`, stderr: '' })).toEqual([]);
    expect(helpFindings('x', { code: 0, stdout: help, stderr: '' })).toEqual(['x --help: prints no exit codes']);
    expect(helpFindings('x', { code: 1, stdout: '', stderr: help })).toEqual([
      'x --help: exit code 1',
      'x --help: prints no usage',
      'x --help: prints no options',
      'x --help: prints no exit codes',
    ]);
    expect(refusalFindings('x', '--y', { code: 2, stdout: '', stderr: "unknown option '--y'" })).toEqual([]);
    expect(refusalFindings('x', '--y', { code: null, stdout: 'working', stderr: '' })).toEqual([
      'x --y: exit code null, not a refusal',
      'x --y: stderr does not name the option',
      'x --y: stdout is not empty',
    ]);
  });
});
