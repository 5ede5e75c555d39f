import type { Logger } from 'pino';

/** A file, or some files, that a node follows. */
export interface FollowedFile {
  reload(): void;
}

/**
 * SIGHUP ends no node: its files are read again, as when they change. Its terminal may have gone, or an operator may
 * not want to wait for the next look at the files.
 *
 * @param files those of the node, as far as they are open when the signal comes
 */
export function reloadOnHangup(logger: Pick<Logger, 'info'>, files: readonly (FollowedFile | undefined)[]): void {
  process.on('SIGHUP', () => {
    logger.info('SIGHUP: the files of credentials, rules and certificates are read again');
    for (const file of files) file?.reload();
  });
}
