import { causalityClaims } from '../testing/causality-claims.js';
import { gentleRain } from './gentlerain.js';

causalityClaims('GentleRain', gentleRain);
