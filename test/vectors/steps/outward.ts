/** Outcomes and the status of a client, in the format of the step traces. */
import { OutcomeUnknownError, SessionBlockedError } from '@isochron/client/errors';
import type { ClientStatus } from '@isochron/client/session/core';
import type { MergedPage } from '@isochron/client/session/listing';
import { IsochronError } from '@isochron/core/errors';
import type { Value } from '@isochron/core/ids';
import { valueOut } from '../outward.js';
import type { StepError, StepStatus, StepValue } from './format.js';

/** The reason of every call that is cancelled. */
export const CANCELLED = 'cancelled';

/** The result of a call. */
export function settledOut(f: string, value: unknown): StepValue {
  switch (f) {
    case 'read':
      return (value as readonly (Value | null)[]).map(valueOut);
    case 'list': {
      const { entries, next } = value as MergedPage;
      return { entries: entries.map(([key, one]) => [key, valueOut(one)]), next };
    }
    default:
      // Absent fields are left out.
      return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as StepValue);
  }
}

/** @throws any other error than the client's: a defect of the machine */
export function errorOut(reason: unknown): StepError {
  if (reason === CANCELLED) return { code: CANCELLED };
  if (!(reason instanceof IsochronError)) throw reason;
  const { code, retryable } = reason;
  if (reason instanceof OutcomeUnknownError) return { code, retryable, txId: reason.txId, sentAfter: reason.sentAfter };
  if (reason instanceof SessionBlockedError)
    return { code, retryable, txId: reason.blockedBy, sentAfter: reason.sentAfter };
  return { code, retryable };
}

/** Without undefined fields. */
export const statusOut = (status: ClientStatus): StepStatus => JSON.parse(JSON.stringify(status)) as StepStatus;
