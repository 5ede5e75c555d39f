import { causalityClaims } from '../testing/causality-claims.js';
import { namedClaims } from '../testing/named-claims.js';
import { ccLo } from './cclo.js';

causalityClaims('CC-LO', ccLo);
namedClaims('CC-LO', ccLo);
