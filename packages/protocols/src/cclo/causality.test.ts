import { causalityClaims } from '../testing/causality-claims.js';
import { ccLo } from './cclo.js';

causalityClaims('CC-LO', ccLo);
