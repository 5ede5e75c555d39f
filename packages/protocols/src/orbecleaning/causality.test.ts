import { only } from '../kernel/operations/dependency-matrix.js';
import { causalityClaims } from '../testing/causality-claims.js';
import { orbeCleaning } from './orbecleaning.js';

causalityClaims('Orbe with dependency cleaning', orbeCleaning, (ts) => only(0, 0, ts));
