import { Topology } from '@isochron/core';
import { PROTOCOL_NAMES, type ProtocolName } from '@isochron/protocols';
import { requireCapability } from '@isochron/sessions';
import { type ServedProtocol, servedProtocol, servedTransactions } from './protocols.js';

const regions = ['virginia', 'oregon', 'ireland'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] }));
const placedIn = (replication: number) =>
  Topology.of({ regions, keyspaces: [{ name: 'default', partitions: 3, replication }] });
const namesOf = (kind: ServedProtocol['kind']) =>
  PROTOCOL_NAMES.filter((name) => servedProtocol<ProtocolName>(name).kind === kind);

describe.each(PROTOCOL_NAMES)('the protocol %s', (name) => {
  const served: ServedProtocol = servedProtocol<ProtocolName>(name);

  it('the protocol %s has the name under which it is found', () => {
    expect(served.name).toBe(name);
  });

  it('the protocol %s runs where every region holds everything', () => {
    expect(served.unsupported(placedIn(3))).toBeUndefined();
  });
});

it.each(namesOf('transactions'))('%s begins with a session of its own rules, which depends on nothing', (name) => {
  const served = servedTransactions(name);
  expect(served.session('s').rules).toBe(served.rules);
  expect(served.session('s').seen.ts).toBe(0);
});

it.each(namesOf('operations'))('%s begins with a session that has seen nothing, and is replicated in full', (name) => {
  const served: ServedProtocol = servedProtocol<ProtocolName>(name);
  if (served.kind !== 'operations') throw new Error('it is of another kind');
  expect(served.session('s', 'virginia').export()).toEqual({ seen: [], region: 'virginia', ust: 0 });
  expect(served.unsupported(placedIn(2))).toMatch(/no replica in/);
  expect(() => servedTransactions(name)).toThrow(name);
});

it.each([
  ['paris', 0, true],
  ['bpr', 0, true],
  ['nocc', 0, true],
  ['wren', 3, false],
  ['cure', 3, false],
  ['h-cure', 3, false],
] as const)('%s has %i entries beside a timestamp; partial replication: %s', (name, entries, partial) => {
  expect(servedProtocol(name).entries(placedIn(3))).toBe(entries);
  expect(servedProtocol(name).unsupported(placedIn(2)) === undefined).toBe(partial);
});

it('an operation that a protocol does not support is refused with a code', () => {
  expect(() => requireCapability(servedProtocol('nocc'), 'read-past', '"at"')).toThrow(
    expect.objectContaining({ code: 'NOT_SUPPORTED_BY_PROTOCOL', message: expect.stringContaining('nocc') }),
  );
  expect(() => requireCapability(servedProtocol('paris'), 'read-past', '"at"')).not.toThrow();
});
