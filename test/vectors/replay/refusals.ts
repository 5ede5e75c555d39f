/** Which rule of its caller a session has refused to break. */
import { InvariantViolation } from '@isochron/core';

const NAMES = new Map([
  ['a snapshot never changes', 'snapshotChanged'],
  ['one commit in flight (P8)', 'commitInFlight'],
  ['no commit is in flight', 'noCommitInFlight'],
  ['OS1: one operation at a time', 'operationUnderWay'],
  ['no operation is under way', 'noOperationUnderWay'],
  ['no PUT is under way', 'noPutUnderWay'],
]);

/** Empty where it has done as it was told. */
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
