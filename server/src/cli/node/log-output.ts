/** Where a node logs. */
import { pino } from 'pino';

type Output = ReturnType<typeof pino.destination>;

/** Standard error, at once, and nowhere any more once its terminal has gone: a node goes on without it. */
export const logOutput = (): Output => untilTerminalGoes(pino.destination({ fd: 2, sync: true }));

/** Other failures of the output are thrown. A broken pipe is none for pino. */
export function untilTerminalGoes<O extends Pick<Output, 'on' | 'write' | 'flushSync'>>(output: O): O {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EIO') throw error;
    // Lines that cannot leave would be kept.
    output.write = () => true;
    output.flushSync = () => undefined;
  });
  return output;
}
