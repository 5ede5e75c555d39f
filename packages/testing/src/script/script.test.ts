/** The player of scenarios detects a change, and names its place. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Replica } from '@isochron/protocols/kernel/transactions/replica';
import { OPERATION_COMMANDS, OPERATION_SHOW, OPERATION_VERBS } from './operation-script.js';
import { playScript, scriptDifferences } from './script.js';
import { COMMANDS } from './script-commands.js';
import { SESSION_COMMANDS } from './script-sessions.js';
import { SHOW } from './script-show.js';

const SCRIPT = `# A write is stable soon.
cluster partitions=1 replication=3
session alice at virginia-1

run 100ms
alice commit T1 x@0=1
until stable T1
show versions x@0
`;

const play = (text: string): string => playScript('some.txt', text);

describe('a script', () => {
  it("a script gets each command's output below the command, and keeps all else", () => {
    const played = play(SCRIPT);
    expect(played).toContain('alice commit T1 x@0=1\n  T1 committed at 100+1\nuntil');
    expect(played.split('\n').filter((line) => !line.startsWith('  '))).toEqual(SCRIPT.split('\n'));
  });

  it('a script plays the same again, from its own text', () => {
    const played = play(SCRIPT);
    expect(play(played)).toBe(played);
    expect(scriptDifferences('some.txt', played, play(played))).toBe('');
  });

  it('a difference names the file, the line, and the removed and added lines', () => {
    const played = play(SCRIPT);
    const stale = played.replace('oregon-1: 1 of T1', 'oregon-1: 2 of T1');
    expect(scriptDifferences('some.txt', stale, play(stale))).toBe(
      [
        'some.txt:10: show versions x@0',
        '    virginia-1: 1 of T1 at 100+1',
        '  - oregon-1: 2 of T1 at 100+1',
        '  + oregon-1: 1 of T1 at 100+1',
        '    ireland-1: 1 of T1 at 100+1',
      ].join('\n'),
    );
  });

  it('a script differs when a line of output is missing or too much', () => {
    const played = play(SCRIPT);
    const missing = played.replace('  T1 committed at 100+1\n', '');
    expect(scriptDifferences('some.txt', missing, play(missing))).toContain('  + T1 committed at 100+1');
    const tooMuch = played.replace('run 100ms\n', 'run 100ms\n  no command shows this\n');
    expect(scriptDifferences('some.txt', tooMuch, play(tooMuch))).toContain('  - no command shows this');
  });
});

describe('an impossible script', () => {
  it.each([
    ['alice', 'no command and no session "alice"'],
    ['run 10', '"10" is no duration'],
    ['run 10ms quickly', '"quickly" is too much'],
    ['run to 50ms', 'it is 100 ms already'],
    ['crash atlantis-1', 'no node "atlantis-1"'],
    ['bob commit T1 x@7=1', 'no partition 7'],
    ['bob commit x@0=1', '"x@0=1" is no name of a transaction'],
    ['bob read T9 x@0', 'no transaction "T9"'],
    ['bob dances', '"dances" is none of begin'],
    ['await T1', 'T1 waits for no answer'],
    ['until held 1', 'did not come true'],
    ['hold Smoke', '"Smoke" is too much'],
    ['show weather', '"weather" is none of replica'],
    ['cluster', 'there is a cluster already'],
  ])('a script fails at its line: %s', (command, message) => {
    const text = `cluster partitions=1\nsession bob at virginia-1\nrun 100ms\n${command}\n`;
    expect(() => play(text)).toThrow(`some.txt:4: ${command}\n`);
    expect(() => play(text)).toThrow(message);
  });

  it('a script begins with a cluster, and has nothing indented before the first command', () => {
    expect(() => play('run 10ms\n')).toThrow('some.txt:1: run 10ms\n  a script begins with "cluster"');
    expect(() => play('# a comment\n  some output\n')).toThrow('some.txt:2: no command shows this');
    expect(() => play('cluster applyIntervalMS=5\n')).toThrow('"applyIntervalMS" is none of applyIntervalMs');
  });

  it('a script ends where a node stops', () => {
    const broken = jest.spyOn(Replica.prototype, 'invariants').mockImplementation(function (this: Replica) {
      if (this.cohort.slices.committed.size > 0) throw new Error('PR2: broken');
    });
    const text = 'cluster\nsession bob at virginia-1\nrun 100ms\nbob send commit T1 x@0=1\nrun 1s\n';
    expect(() => play(text)).toThrow('some.txt:4: bob send commit T1 x@0=1\n  PR2: broken');
    broken.mockRestore();
    expect(() => play(text)).not.toThrow();
  });
});

/** The commands that a README describes. */
function documentedIn(path: string): Set<string> {
  const readme = readFileSync(join(__dirname, '../../../protocols/src', path), 'utf8');
  return new Set([...readme.matchAll(/`([^`]+)`/g)].flatMap(([, text]) => text!.split(' ').slice(0, 2)));
}

describe('the README of the scenarios', () => {
  const documented = documentedIn('paris/testdata/README.md');

  it.each([...Object.keys(COMMANDS), ...Object.keys(SESSION_COMMANDS), ...Object.keys(SHOW)])(
    'the README of the scenarios describes %s',
    (word) => {
      expect(documented).toContain(word);
    },
  );
});

describe('README of the scenarios of single operations', () => {
  const documented = documentedIn('kernel/operations/SPEC.md');
  const words = [OPERATION_COMMANDS, OPERATION_VERBS, OPERATION_SHOW].flatMap((commands) => Object.keys(commands));

  it.each(words)('the README of single operations describes %s', (word) => {
    expect(documented).toContain(word);
  });
});

describe('an impossible script of single operations', () => {
  it.each([
    ['alice get x@0', 'no command and no session "alice"'],
    ['bob dances', '"dances" is none of put'],
    ['await bob', 'bob waits for no answer'],
    ['show weather', '"weather" is none of versions'],
    ['session run at virginia-1', 'a session cannot be called run'],
    ['get x@0', 'no command and no session "get"'],
  ])('a script of single operations fails at its line: %s', (command, message) => {
    const text = `cluster protocol=okapi partitions=1\nsession bob at virginia-1\nrun 100ms\n${command}\n`;
    expect(() => play(text)).toThrow(`some.txt:4: ${command}\n`);
    expect(() => play(text)).toThrow(message);
  });
});
