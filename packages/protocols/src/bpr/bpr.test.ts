import { transactionClaims } from '../testing/transaction-claims.js';
import { bpr } from './bpr.js';
import { BprSession } from './session.js';

transactionClaims('BPR', { protocol: bpr, Session: BprSession });
