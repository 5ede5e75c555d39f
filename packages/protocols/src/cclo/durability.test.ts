import { operationClaims } from '../testing/operation-claims.js';
import { ccLo } from './cclo.js';

operationClaims('CC-LO', ccLo);
