import { operationClaims } from '../testing/operation-claims.js';
import { copsGt } from './copsgt.js';

operationClaims('COPS-GT', copsGt);
