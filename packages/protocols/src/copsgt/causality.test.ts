import { causalityClaims } from '../testing/causality-claims.js';
import { namedClaims } from '../testing/named-claims.js';
import { copsGt } from './copsgt.js';

causalityClaims('COPS-GT', copsGt, undefined, ['X1', 'Y1']);
namedClaims('COPS-GT', copsGt);
