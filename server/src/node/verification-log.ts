import type { VerificationStatus } from '@isochron/protocols';
import type { Logger } from 'pino';

/** How often the state is checked, ms. */
const INTERVAL_MS = 250;
/** Logging begins after this time, ms, or when the verification times out. */
const QUIET_MS = 2_000;

/**
 * Logs the verification of the disk (D10), until every peer replica has confirmed that the disk was not rolled back.
 * @returns a function that stops it
 */
export function reportVerification(status: () => VerificationStatus, logger: Logger): () => void {
  let reported: VerificationStatus['state'] | undefined;
  let waitedMs = 0;
  const timer = setInterval(() => {
    waitedMs += INTERVAL_MS;
    const { state, missing, timedOut } = status();
    if (state === 'verified') clearInterval(timer);
    if (state === reported || (reported === undefined && waitedMs < QUIET_MS && !timedOut)) return;
    if (state === 'verifying') {
      logger.info(
        { missing },
        'the disk is being verified: no writes until a peer replica of each partition has reported',
      );
    } else if (state === 'verified') {
      if (reported !== undefined) logger.info('the disk is verified: every peer replica has reported');
    } else if (timedOut) {
      logger.warn(
        { missing },
        'no peer replica has reported within verifyTimeoutMs: the node goes on unverified; if its disk is an old one, writes that it acknowledges now may be lost',
      );
    } else logger.info({ missing }, 'the disk is verified in part: some peer replicas have not reported yet');
    reported = state;
  }, INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
