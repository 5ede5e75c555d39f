import { HCureSession } from '../sessions.js';
import { FULLY_REPLICATED, transactionClaims } from '../testing/transaction-claims.js';
import { vectorClaims } from '../testing/vector-claims.js';
import { hCure } from './hcure.js';

transactionClaims('H-Cure', { protocol: hCure, Session: HCureSession, spec: FULLY_REPLICATED });
vectorClaims('H-Cure', { protocol: hCure, Session: HCureSession });
