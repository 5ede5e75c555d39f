import { BprSession } from '../sessions.js';
import { transactionClaims } from '../testing/transaction-claims.js';
import { bpr } from './bpr.js';

transactionClaims('BPR', { protocol: bpr, Session: BprSession });
