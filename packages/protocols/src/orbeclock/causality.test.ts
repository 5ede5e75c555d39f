import { only } from '../kernel/operations/dependency-matrix.js';
import { causalityClaims } from '../testing/causality-claims.js';
import { orbeClock } from './orbeclock.js';

causalityClaims('Orbe DM-Clock', orbeClock, (ts) => only(0, 0, ts));
