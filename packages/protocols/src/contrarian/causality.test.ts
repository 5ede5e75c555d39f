import { causalityClaims } from '../testing/causality-claims.js';
import { contrarian } from './contrarian.js';

causalityClaims('Contrarian', contrarian);
