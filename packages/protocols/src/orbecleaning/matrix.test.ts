import { matrixClaims } from '../testing/matrix-claims.js';
import { orbeCleaning } from './orbecleaning.js';

matrixClaims('Orbe with dependency cleaning', orbeCleaning);
