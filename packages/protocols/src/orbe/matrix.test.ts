import { matrixClaims } from '../testing/matrix-claims.js';
import { orbe } from './orbe.js';

matrixClaims('Orbe', orbe);
