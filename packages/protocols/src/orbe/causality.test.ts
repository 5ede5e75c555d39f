import { only } from '../kernel/operations/dependency-matrix.js';
import { causalityClaims } from '../testing/causality-claims.js';
import { orbe } from './orbe.js';

causalityClaims('Orbe', orbe, (ts) => only(0, 0, ts));
