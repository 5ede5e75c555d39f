import { CATALOGUE, OPERATION_PROTOCOLS, TRANSACTION_PROTOCOLS } from './catalogue.js';
import { isProtocolName, OPERATION_SESSIONS, PROTOCOL_NAMES, TRANSACTION_SESSIONS } from './session-rules.js';

const SESSIONS = { ...TRANSACTION_SESSIONS, ...OPERATION_SESSIONS };

describe.each(PROTOCOL_NAMES)('the protocol %s', (name) => {
  it('a protocol has the name under which the catalogue lists it', () => {
    expect(CATALOGUE[name].protocol.name).toBe(name);
  });

  it('a client that loads the session rules alone gets those of the catalogue', async () => {
    expect(await SESSIONS[name]()).toBe(CATALOGUE[name].session);
  });

  it('a protocol offers the operations of its family', () => {
    expect(CATALOGUE[name].capabilities.has(CATALOGUE[name].kind)).toBe(true);
  });
});

it('the catalogue lists the protocols whose session rules a client can load, in the same order', () => {
  expect(Object.keys(TRANSACTION_PROTOCOLS)).toEqual(Object.keys(TRANSACTION_SESSIONS));
  expect(Object.keys(OPERATION_PROTOCOLS)).toEqual(Object.keys(OPERATION_SESSIONS));
});

it('a property that every object has is not the name of a protocol', () => {
  expect(['paris', 'cc-lo'].every(isProtocolName)).toBe(true);
  expect(['toString', '', 'raft'].some(isProtocolName)).toBe(false);
});
