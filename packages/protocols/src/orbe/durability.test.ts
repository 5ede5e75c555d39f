import { operationClaims } from '../testing/operation-claims.js';
import { orbe } from './orbe.js';

operationClaims('Orbe', orbe);
