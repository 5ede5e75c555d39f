/** Runs the shared claims for every protocol of interactive transactions in the catalogue. */
import { Topology } from '@isochron/core';
import { TRANSACTION_PROTOCOLS } from '@isochron/protocols/catalogue';
import { vectorSession } from '@isochron/protocols/kernel/transactions/vector-session';
import { THREE_REGIONS } from '../world/world.js';
import { outsiderClaims } from './outsider-claims.js';
import { FULLY_REPLICATED, transactionClaims } from './transaction-claims.js';
import { vectorClaims } from './vector-claims.js';

const all = Object.entries(TRANSACTION_PROTOCOLS);

describe.each(all.filter(([, { capabilities }]) => capabilities.has('snapshots')))('%s', (_name, entry) => {
  const spec = entry.unsupported(Topology.of(THREE_REGIONS)) === undefined ? THREE_REGIONS : FULLY_REPLICATED;
  transactionClaims({ protocol: entry.protocol, session: entry.session, spec });
});

describe.each(all)('%s', (_name, { protocol, session, unsupported }) => {
  const separate = unsupported(Topology.of(THREE_REGIONS)) === undefined;
  outsiderClaims({ protocol, session, spec: separate ? THREE_REGIONS : FULLY_REPLICATED }, separate);
});

describe.each(all.filter(([, { session }]) => session === vectorSession))('%s', (_name, { protocol, session }) => {
  vectorClaims(protocol, session);
});
