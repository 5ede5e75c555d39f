import { operationClaims } from '../testing/operation-claims.js';
import { orbeCleaning } from './orbecleaning.js';

operationClaims('Orbe with dependency cleaning', orbeCleaning);
