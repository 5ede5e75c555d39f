import { operationClaims } from '../testing/operation-claims.js';
import { contrarian } from './contrarian.js';

operationClaims('Contrarian', contrarian);
