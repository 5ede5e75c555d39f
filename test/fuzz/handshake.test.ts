/** The handshake: from whatever state, whatever comes, a message or an end; and nobody is accepted who does not know the secret. */
import {
  encodeHello,
  encodeIdentity,
  encodeRefusal,
  Handshake,
  type HandshakeStep,
  type PeerInfo,
  PROTOCOL_VERSION,
} from '@isochron/wire';
import { pack, unpack } from '@isochron/wire/msgpack';
import fc from 'fast-check';
import { largestAllocation } from './allocations.js';
import { damaged, damages, GIANT_HEADERS } from './damage.js';
import { fuzz } from './fuzz.js';
import { hostileValue, place, replaced } from './hostile.js';

const SECRET = 'a secret for tests only';
const CODES = ['PEER_REFUSED', 'PEER_VERSION_MISMATCH', 'PEER_CONFIG_MISMATCH'];
const info = (nodeId: string): PeerInfo => ({
  nodeId,
  storeId: `store-of-${nodeId}`,
  version: PROTOCOL_VERSION,
  clusterHash: 'c0ffee',
  epoch: 0,
  hlc: 200_000_000_000_000,
});

type Role = 'initiator' | 'acceptor';
const side = (role: Role, secret = SECRET): Handshake =>
  new Handshake({
    role,
    self: info(role === 'initiator' ? 'a-1' : 'b-1'),
    secret,
    nonce: new Uint8Array(32).fill(role === 'initiator' ? 1 : 2),
    ...(role === 'initiator' ? { expected: 'b-1' } : {}),
  });

/** What each side gets from an honest peer, in order. */
const HONEST: Readonly<Record<Role, readonly Uint8Array[]>> = (() => {
  const [first, second] = [side('initiator'), side('acceptor')];
  const hello = first.start().send!;
  const answer = second.receive(hello).send!;
  const proof = first.receive(answer).send!;
  return { acceptor: [hello, proof], initiator: [answer, second.receive(proof).send!] };
})();

/** A side in one of its states, and what an honest peer would say next. */
interface Situation {
  readonly role: Role;
  readonly received: 0 | 1;
}
const situations: fc.Arbitrary<Situation> = fc.record({
  role: fc.constantFrom('initiator' as const, 'acceptor' as const),
  received: fc.constantFrom(0 as const, 1 as const),
});

function inState({ role, received }: Situation): Handshake {
  const handshake = side(role);
  handshake.start();
  for (const message of HONEST[role].slice(0, received)) handshake.receive(message);
  return handshake;
}

const next = ({ role, received }: Situation): Uint8Array => HONEST[role][received]!;

/** Hands in what no honest peer sent: the step ends with a refusal, or goes on without having accepted anybody. */
function hears(situation: Situation, bytes: Uint8Array): HandshakeStep {
  const step = inState(situation).receive(bytes);
  if (step.outcome === undefined) expect(step.send).toBeDefined();
  else if (step.outcome.status === 'refused') expect(CODES).toContain(step.outcome.code);
  else expect(Buffer.from(bytes).equals(next(situation))).toBe(true);
  return step;
}

describe('the handshake', () => {
  it.each(['initiator', 'acceptor'] as const)('accepts an honest peer as %s', (role) => {
    expect(hears({ role, received: 1 }, HONEST[role][1]!).outcome?.status).toBe('accepted');
  });

  fuzz(
    'random bytes are refused in every state',
    2000,
    [situations, fc.uint8Array({ maxLength: 200 })],
    (at, bytes) => {
      expect(hears(at, bytes).outcome).toMatchObject({ status: 'refused', by: 'self', code: 'PEER_REFUSED' });
    },
  );

  fuzz('a damaged message leads to no acceptance', 2000, [situations, damages], (at, changes) => {
    hears(at, damaged(next(at), changes));
  });

  fuzz(
    'a message with a hostile part leads to no acceptance',
    2000,
    [situations, fc.array(fc.tuple(place, hostileValue), { minLength: 1, maxLength: 3 })],
    (at, parts) => {
      hears(at, pack(parts.reduce((raw, [where, value]) => replaced(raw, where, () => value), unpack(next(at)))));
    },
  );

  fuzz(
    'a message of the wrong kind or of the other side is refused',
    500,
    [situations, fc.constantFrom<Role>('initiator', 'acceptor'), fc.nat({ max: 3 }), fc.uint8Array({ maxLength: 64 })],
    (at, role, kind, bytes) => {
      const nonce = Uint8Array.from({ length: 32 }, (_, i) => bytes[i] ?? 0);
      const message = [
        encodeHello({ version: PROTOCOL_VERSION, role, nonce }),
        encodeIdentity(nonce),
        encodeRefusal({ code: 'PEER_REFUSED', detail: 'because' }),
        HONEST[role][bytes.length % 2]!,
      ][kind]!;
      hears(at, message);
    },
  );

  fuzz(
    'who does not know the secret is never accepted, whatever else it says of itself',
    300,
    [fc.string({ minLength: 1, maxLength: 40 }), fc.constantFrom<Role>('initiator', 'acceptor')],
    (guess, role) => {
      fc.pre(guess !== SECRET);
      const stranger = side(role, guess);
      const honest = side(role === 'initiator' ? 'acceptor' : 'initiator');
      let [speaker, listener]: [Handshake, Handshake] = role === 'initiator' ? [stranger, honest] : [honest, stranger];
      let step = speaker.start();
      for (let turns = 0; step.send !== undefined && turns < 4; turns++) {
        step = listener.receive(step.send);
        if (listener === honest) expect(step.outcome?.status).not.toBe('accepted');
        if (step.outcome !== undefined) return;
        [speaker, listener] = [listener, speaker];
      }
    },
  );

  fuzz(
    'a declared length is refused before memory is asked for',
    500,
    [situations, fc.nat({ max: 300 }), fc.constantFrom(...GIANT_HEADERS)],
    (at, where, header) => {
      const bytes = damaged(next(at), [{ kind: 'overwrite', at: where, bytes: header }]);
      const handshake = inState(at);
      // The encoder of the answer may ask for a new buffer, four times as long as the longest message so far. What is declared
      // here is two bytes long at most, or two gigabytes at least.
      expect(largestAllocation(() => handshake.receive(bytes))).toBeLessThan(16 * 1024 * 1024);
    },
  );
});
