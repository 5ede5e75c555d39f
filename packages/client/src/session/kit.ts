import { fullJitterMs } from '@isochron/core/backoff';
import { IsochronError } from '@isochron/core/errors';
import { isTxId } from '@isochron/core/ids';
import { notation } from '@isochron/wire/session-frames/notation';
import { invalidSession, malformed } from '../errors.js';
import { Exchange, unexpected } from '../link/exchange.js';
import { parts } from '../link/frames.js';
import { updateOf } from '../updates.js';
import { OutcomeExchange } from './outcome.js';

/** The parts that the clients of all protocols are made of. */
export const CLIENT_KIT = {
  Exchange,
  OutcomeExchange,
  IsochronError,
  unexpected,
  malformed,
  invalidSession,
  isTxId,
  updateOf,
  fullJitterMs,
  parts,
  notation,
};

export type ClientKit = typeof CLIENT_KIT;
