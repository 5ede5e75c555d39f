import { CureSession } from '../sessions.js';
import { FULLY_REPLICATED, transactionClaims } from '../testing/transaction-claims.js';
import { vectorClaims } from '../testing/vector-claims.js';
import { cure } from './cure.js';

transactionClaims('Cure', { protocol: cure, Session: CureSession, spec: FULLY_REPLICATED });
vectorClaims('Cure', { protocol: cure, Session: CureSession });
