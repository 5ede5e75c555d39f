import { PassThrough } from 'node:stream';
import { confirm } from './confirm.js';

/** A terminal on which a user types a line. */
function typing(line: string): PassThrough & { readonly isTTY: true } {
  const input = Object.assign(new PassThrough(), { isTTY: true as const });
  input.write(`${line}\n`);
  return input;
}

describe('the consent of a user', () => {
  let written: string;
  beforeEach(() => {
    written = '';
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
      written += String(text);
      return true;
    });
  });
  afterEach(() => jest.restoreAllMocks());

  it('a command goes on once the user has typed the text', async () => {
    await confirm('a node will be suspended', 'ireland-1', typing(' ireland-1 '));
    expect(written).toBe('a node will be suspended.\nType ireland-1 to go on: ');
  });

  it.each(['', 'y', 'ireland-2'])('a command does nothing when the user types another text: %j', async (line) => {
    await expect(confirm('a node will be suspended', 'ireland-1', typing(line))).rejects.toThrow('nothing was done');
  });
});
