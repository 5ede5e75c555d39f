import { operationClaims } from '../testing/operation-claims.js';
import { gentleRain } from './gentlerain.js';

operationClaims('GentleRain', gentleRain);
