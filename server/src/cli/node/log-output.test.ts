import { EventEmitter } from 'node:events';
import { untilTerminalGoes } from './log-output.js';

class Output extends EventEmitter {
  readonly lines: string[] = [];
  write(line: string): boolean {
    this.lines.push(line);
    return true;
  }
  flushSync(): void {
    this.lines.length = 0;
  }
}

const failure = (code: string) => Object.assign(new Error(code), { code });

it('a node whose terminal has gone goes on, and keeps no lines for it', () => {
  const output = new Output();
  const log = untilTerminalGoes(output as never) as Output;
  log.write('one');
  output.emit('error', failure('EIO'));
  log.write('two');
  log.flushSync();
  expect(output.lines).toEqual(['one']);
});

it('another failure of the log is thrown', () => {
  const output = new Output();
  untilTerminalGoes(output as never);
  expect(() => output.emit('error', failure('ENOSPC'))).toThrow('ENOSPC');
});
