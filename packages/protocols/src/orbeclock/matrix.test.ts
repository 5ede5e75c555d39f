import { matrixClaims } from '../testing/matrix-claims.js';
import { orbeClock } from './orbeclock.js';

matrixClaims('Orbe DM-Clock', orbeClock);
