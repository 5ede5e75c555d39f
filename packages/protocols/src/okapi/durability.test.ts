import { operationClaims } from '../testing/operation-claims.js';
import { okapi } from './okapi.js';

operationClaims('Okapi', okapi);
