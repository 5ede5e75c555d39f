/** Runs the claims about durability, PUTs and refusals for every protocol of single operations in the catalogue. */
import { OPERATION_PROTOCOLS } from '@isochron/protocols/catalogue';
import { operationClaims } from './operation-claims.js';

describe.each(Object.entries(OPERATION_PROTOCOLS))('%s', (_name, { protocol }) => {
  operationClaims(protocol);
});
