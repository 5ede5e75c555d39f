import { IsochronError } from '@isochron/core/errors';
import { OutcomeUnknownError } from '@isochron/sdk';
import { failureOf, Interrupted, UsageError } from './failures.js';

const systemError = (code: string, more: object): Error =>
  Object.assign(new Error(`${code}: listen`), { code, ...more });

describe('failureOf', () => {
  it('failureOf names the code of an IsochronError and exits with 1', () => {
    const error = new IsochronError('KEYSPACE_UNKNOWN', 'There is no keyspace "x".');
    expect(failureOf(error)).toEqual({ line: 'KEYSPACE_UNKNOWN: There is no keyspace "x".', exitCode: 1 });
  });

  it('failureOf names the command that looks up a commit that may have happened', () => {
    const error = new OutcomeUnknownError('abcdefghijklmnopqrstuv.0', 1234, 'no answer');
    expect(failureOf(error).line).toMatch(
      /^OUTCOME_UNKNOWN: .*: no answer; ask later with: isochron transaction abcdefghijklmnopqrstuv\.0 --sent-after 1234$/,
    );
  });

  it('failureOf exits with 2 for wrong usage and with 130 for an interruption', () => {
    expect(failureOf(new UsageError('no')).exitCode).toBe(2);
    expect(failureOf(new Interrupted('stopped')).exitCode).toBe(130);
  });

  it('failureOf names a port in use and the remedy', () => {
    const { line, exitCode } = failureOf(systemError('EADDRINUSE', { port: 7101 }));
    expect(line).toMatch(/^EADDRINUSE: port 7101 is in use: stop the program that uses it or /);
    expect(exitCode).toBe(1);
  });

  it.each(['EACCES', 'EROFS', 'ENOTDIR', 'ENOSPC', 'ENOENT', 'EISDIR'])('failureOf names the path of %s', (code) => {
    expect(failureOf(systemError(code, { path: '/srv/data' })).line).toMatch(new RegExp(`^${code}: .*/srv/data`));
  });

  it('failureOf gives one line for every message', () => {
    expect(failureOf(new Error('first\n  second\n')).line).toBe('INTERNAL: first second');
  });
});
