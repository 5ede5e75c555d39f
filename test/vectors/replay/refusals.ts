/** The rule of its caller that a session refused to break. */
import { InvariantViolation } from '@isochron/core';

const NAMES = new Map([
  ['a snapshot never changes', 'snapshotChanged'],
  ['one commit in flight (P8)', 'commitInFlight'],
  ['no commit is in flight', 'noCommitInFlight'],
  ['OS1: one operation at a time', 'operationUnderWay'],
  ['no operation is under way', 'noOperationUnderWay'],
  ['no PUT is under way', 'noPutUnderWay'],
]);

/** Empty when the session did not refuse. */
export function refusalOf(call: () => void): { readonly refused?: string } {
  try {
    call();
    return {};
  } catch (error) {
    if (!(error instanceof InvariantViolation)) throw error;
    return {
      refused:
        NAMES.get(error.message) ??
        (/^snapshot \d+ is below/.test(error.message) ? 'snapshotBelowSeen' : error.message),
    };
  }
}
