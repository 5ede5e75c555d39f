/** The end of a node's process: in order on a signal, at once after a fatal failure. */
import closeWithGrace from 'close-with-grace';
import type { Logger } from 'pino';
import { isSupervised, notifyParent } from '../children/parent.js';
import { failureOf } from '../failures.js';

/** Exit code of a node after a fatal failure (EX_SOFTWARE): an operator has to look at it. */
export const FATAL_EXIT_CODE = 70;
/**
 * Longest time for closing, ms: more than all its steps may take. Acknowledged writes are on disk before that anyway.
 */
const CLOSE_TIMEOUT_MS = 20_000;

/** After these events no JavaScript can safely run, or they are not a request to stop. */
const NOT_OURS: closeWithGrace.AllEvents[] = [
  'SIGILL',
  'SIGTRAP',
  'SIGABRT',
  'SIGBUS',
  'SIGFPE',
  'SIGSEGV',
  'SIGUSR2',
  // Read the files again, see `reloadOnHangup`.
  'SIGHUP',
  'beforeExit',
  'uncaughtException',
  'unhandledRejection',
];

/**
 * Closes in order on SIGTERM and SIGINT, then exits with 0; a second signal does not wait, and exits with 1.
 * Under a parent, the end of its channel counts instead: a Ctrl-C in the terminal reaches every process, and the parent
 * decides.
 */
export function closeOnSignals(logger: Logger, close: () => Promise<void>): void {
  const supervised = isSupervised();
  let closed: Promise<void> | undefined;
  const closeInOrder = async (signal: string | undefined): Promise<void> => {
    logger.info({ signal }, 'closing');
    await close().catch((error: unknown) => {
      logger.error({ err: error }, 'closing failed');
      throw error;
    });
    logger.info('closed');
  };
  const skip: closeWithGrace.AllEvents[] = supervised ? [...NOT_OURS, 'SIGINT'] : NOT_OURS;
  const closing = closeWithGrace(
    {
      delay: CLOSE_TIMEOUT_MS,
      logger: false,
      skip,
      onTimeout: () => logger.error('closing took too long; the node ends without it'),
    },
    // A signal to a whole group comes twice: as a signal, and as the end of the parent's channel.
    ({ signal }) => {
      closed ??= closeInOrder(signal);
      return closed;
    },
  );
  if (!supervised) return;
  process.on('SIGINT', () => logger.debug('SIGINT is left to the parent process'));
  // The parent may have ended while this process was still loading its modules.
  if (process.connected) process.on('disconnect', () => closing.close());
  else closing.close();
}

/** Ends the process with a fatal log line and exit code 70. Only the first call counts. */
export function fatalExit(logger: Logger): (error: unknown) => void {
  let ending = false;
  return (error) => {
    if (ending) return;
    ending = true;
    logger.fatal({ err: error }, 'the node cannot go on');
    const { line } = failureOf(error);
    process.stderr.write(`error: ${line}\n`);
    void notifyParent(line).then(() => process.exit(FATAL_EXIT_CODE));
  };
}
