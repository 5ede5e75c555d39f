import { operationClaims } from '../testing/operation-claims.js';
import { orbeClock } from './orbeclock.js';

operationClaims('Orbe DM-Clock', orbeClock);
