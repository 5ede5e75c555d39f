/** The handshake: any message in any state gives a message or an end, and only a side with the secret is accepted. */
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
  hlc: 200_000_000_000_000,
  protection: { rules: null, users: null },
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

/** The messages that each side receives from an honest peer, in order. */
const HONEST: Readonly<Record<Role, readonly Uint8Array[]>> = (() => {
  const [first, second] = [side('initiator'), side('acceptor')];
  const hello = first.start().send!;
  const answer = second.receive(hello).send!;
  const proof = first.receive(answer).send!;
  return { acceptor: [hello, proof], initiator: [answer, second.receive(proof).send!] };
})();

/** A side in one of its states, before an honest peer's next message. */
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

/** Passes in a message that no honest peer sent: the step refuses it, or continues without acceptance. */
function receive(situation: Situation, bytes: Uint8Array): HandshakeStep {
  const step = inState(situation).receive(bytes);
  if (step.outcome === undefined) expect(step.send).toBeDefined();
  else if (step.outcome.status === 'refused') expect(CODES).toContain(step.outcome.code);
  else expect(Buffer.from(bytes).equals(next(situation))).toBe(true);
  return step;
}

describe('the handshake', () => {
  it.each(['initiator', 'acceptor'] as const)('the handshake accepts an honest peer as %s', (role) => {
    expect(receive({ role, received: 1 }, HONEST[role][1]!).outcome?.status).toBe('accepted');
  });

  fuzz(
    'the handshake refuses random bytes in every state',
    2000,
    [situations, fc.uint8Array({ maxLength: 200 })],
    (at, bytes) => {
      expect(receive(at, bytes).outcome).toMatchObject({ status: 'refused', by: 'self', code: 'PEER_REFUSED' });
    },
  );

  fuzz('a damaged message never leads to acceptance', 2000, [situations, damages], (at, changes) => {
    receive(at, damaged(next(at), changes));
  });

  fuzz(
    'a message with a hostile part never leads to acceptance',
    2000,
    [situations, fc.array(fc.tuple(place, hostileValue), { minLength: 1, maxLength: 3 })],
    (at, parts) => {
      receive(at, pack(parts.reduce((raw, [where, value]) => replaced(raw, where, () => value), unpack(next(at)))));
    },
  );

  fuzz(
    'a handshake message of the wrong kind or of the other side is refused',
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
      receive(at, message);
    },
  );

  fuzz(
    'a side without the secret is never accepted, with any other fields',
    300,
    [fc.string({ minLength: 1, maxLength: 40 }), fc.constantFrom<Role>('initiator', 'acceptor')],
    (guess, role) => {
      fc.pre(guess !== SECRET);
      const stranger = side(role, guess);
      const honest = side(role === 'initiator' ? 'acceptor' : 'initiator');
      let [sender, receiver]: [Handshake, Handshake] = role === 'initiator' ? [stranger, honest] : [honest, stranger];
      let step = sender.start();
      for (let turns = 0; step.send !== undefined && turns < 4; turns++) {
        step = receiver.receive(step.send);
        if (receiver === honest) expect(step.outcome?.status).not.toBe('accepted');
        if (step.outcome !== undefined) return;
        [sender, receiver] = [receiver, sender];
      }
    },
  );

  fuzz(
    'a length declared in a handshake is refused before its memory is allocated',
    500,
    [situations, fc.nat({ max: 300 }), fc.constantFrom(...GIANT_HEADERS)],
    (at, where, header) => {
      const bytes = damaged(next(at), [{ kind: 'overwrite', at: where, bytes: header }]);
      const handshake = inState(at);
      // The encoder of the reply may allocate a new buffer, four times as long as the longest message so far. Lengths
      // declared here are two bytes at most, or two gigabytes at least.
      expect(largestAllocation(() => handshake.receive(bytes))).toBeLessThan(16 * 1024 * 1024);
    },
  );
});
