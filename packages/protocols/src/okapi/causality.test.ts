import { causalityClaims } from '../testing/causality-claims.js';
import { okapi } from './okapi.js';

causalityClaims('Okapi', okapi);
