import fc from 'fast-check';
import { Handshake, type HandshakeOptions, type HandshakeOutcome, type HandshakeStep } from './handshake.js';
import { decodeHandshake, encodeHello, encodeIdentity, type PeerInfo } from './hello.js';

const info = (nodeId: string, changes: Partial<PeerInfo> = {}): PeerInfo => ({
  nodeId,
  storeId: `store-of-${nodeId}`,
  version: 1,
  clusterHash: 'c0ffee',
  hlc: 123_456_789_012_345,
  protection: { rules: 'rules', users: null },
  ...changes,
});

const initiator = (changes: Partial<HandshakeOptions> = {}): Handshake =>
  new Handshake({
    role: 'initiator',
    self: info('a-1'),
    secret: 'open sesame',
    nonce: new Uint8Array(32).fill(1),
    expected: 'b-1',
    ...changes,
  });
const acceptor = (changes: Partial<HandshakeOptions> = {}): Handshake =>
  new Handshake({
    role: 'acceptor',
    self: info('b-1'),
    secret: 'open sesame',
    nonce: new Uint8Array(32).fill(2),
    ...changes,
  });

interface Run {
  readonly outcomes: [HandshakeOutcome | undefined, HandshakeOutcome | undefined];
  readonly sent: Uint8Array[];
}

/** Runs two sides until neither has a message to send. */
function converse(first: Handshake, second: Handshake): Run {
  const sides = [first, second] as const;
  const run: Run = { outcomes: [undefined, undefined], sent: [] };
  let turn = 0;
  let step: HandshakeStep = first.start();
  for (;;) {
    if (step.outcome !== undefined) run.outcomes[turn as 0 | 1] = step.outcome;
    if (step.send === undefined) return run;
    run.sent.push(step.send);
    turn = 1 - turn;
    if (run.outcomes[turn as 0 | 1] !== undefined) return run;
    step = sides[turn as 0 | 1].receive(step.send);
  }
}

const refused = (by: 'self' | 'peer', code: string) => expect.objectContaining({ status: 'refused', by, code });

describe('Handshake', () => {
  it('a handshake succeeds on both sides when secret, version and cluster file agree', () => {
    const { outcomes } = converse(initiator(), acceptor());
    expect(outcomes).toEqual([
      { status: 'accepted', peer: info('b-1') },
      { status: 'accepted', peer: info('a-1') },
    ]);
  });

  it('a handshake keeps its format: these are the bytes of a whole handshake', () => {
    expect(converse(initiator(), acceptor()).sent.map((bytes) => Buffer.from(bytes).toString('hex'))).toEqual([
      '93a869736f6368726f6e01930100c4200101010101010101010101010101010101010101010101010101010101010101',
      '93a869736f6368726f6e01930101c4200202020202020202020202020202020202020202020202020202020202020202',
      '93a869736f6368726f6e02c4407137f9251109da3806b3c8d3cdbd403fa59d6f228396939e34f175a7d2945834f598da0988d1602197cc2bfd2212ecd170e2115a7c776152fb5fb32ac9af740a',
      '93a869736f6368726f6e02c43bcdac72a866cc0c7af56c159838f11bd54d7b4bbd2c1f352b6cbf454f333d336845d0b6a1b910e802aec3f3c665ddffb69616c62a267f8adcc22c25',
    ]);
  });

  it('a handshake shows a stranger neither node, store, cluster file nor clock, on either side and at any point', () => {
    const stranger = converse(initiator({ secret: 'guess' }), acceptor()).sent;
    for (const bytes of [...stranger, ...converse(initiator(), acceptor()).sent]) {
      for (const word of ['a-1', 'b-1', 'store-of', 'c0ffee']) expect(Buffer.from(bytes).includes(word)).toBe(false);
    }
    const nonce = new Uint8Array(32).fill(2);
    expect(Buffer.from(stranger[1]!).equals(encodeHello({ version: 1, role: 'acceptor', nonce }))).toBe(true);
  });

  it('a handshake never sends the secret', () => {
    for (const bytes of converse(initiator(), acceptor()).sent) {
      expect(Buffer.from(bytes).includes('open sesame')).toBe(false);
    }
  });

  it('the accepting side refuses a wrong secret before it has proved anything itself', () => {
    const { outcomes, sent } = converse(initiator({ secret: 'guess' }), acceptor());
    expect(outcomes).toEqual([refused('peer', 'PEER_REFUSED'), refused('self', 'PEER_REFUSED')]);
    expect(sent).toHaveLength(4);
    expect(Buffer.from(sent[3]!).includes('has not proved the secret')).toBe(true);
  });

  it('the dialling side refuses an acceptor without a proof', () => {
    const dialler = initiator();
    dialler.start();
    dialler.receive(acceptor().receive(initiator().start().send!).send!);
    expect(dialler.receive(encodeIdentity(new Uint8Array(32))).outcome).toEqual(refused('self', 'PEER_REFUSED'));
  });

  it("a handshake refuses the peer's own proof sent back", () => {
    const dialler = initiator();
    const hello = acceptor().receive(dialler.start().send!).send!;
    const own = dialler.receive(hello).send!;
    expect(dialler.receive(own).outcome).toEqual(refused('self', 'PEER_REFUSED'));
  });

  it('a handshake refuses a proof recorded in an earlier handshake', () => {
    const recorded = converse(initiator(), acceptor()).sent;
    const later = acceptor({ nonce: new Uint8Array(32).fill(9) });
    later.receive(recorded[0]!);
    expect(later.receive(recorded[2]!).outcome).toEqual(refused('self', 'PEER_REFUSED'));
  });

  describe('while one secret replaces another', () => {
    const [OLD, NEW] = ['the old secret', 'the new secret'];
    /** The secrets of nodes, in the order of the change: the first secret seals. */
    const stages = [[OLD], [OLD, NEW], [NEW, OLD], [NEW]] as const;
    const withSecrets = ([secret, secondSecret]: readonly [string, string?]) => ({ secret, secondSecret });

    it('a handshake succeeds at every stage of a change of secrets if the nodes share one, whichever of them dials', () => {
      for (const one of stages) {
        for (const other of stages) {
          const common = one.some((secret) => (other as readonly string[]).includes(secret));
          const { outcomes } = converse(initiator(withSecrets(one)), acceptor(withSecrets(other)));
          expect(outcomes.map((outcome) => outcome?.status)).toEqual(
            new Array(2).fill(common ? 'accepted' : 'refused'),
          );
        }
      }
    });

    it('the accepting side proves only the secret that the other side has proved', () => {
      const dialler = initiator(withSecrets([OLD]));
      const listener = acceptor(withSecrets([NEW, OLD]));
      const proof = dialler.receive(listener.receive(dialler.start().send!).send!).send!;
      expect(decodeHandshake(listener.receive(proof).send!, 1)).toMatchObject({ sealed: [expect.anything()] });
    });

    it('a handshake refuses an identity that is sealed more often than there are secrets', () => {
      const listener = acceptor();
      listener.receive(initiator().start().send!);
      const sealed = [1, 2, 3].map((byte) => new Uint8Array(32).fill(byte));
      expect(listener.receive(encodeIdentity(...sealed)).outcome).toMatchObject({
        code: 'PEER_REFUSED',
        detail: expect.stringContaining('two secrets at most'),
      });
    });
  });

  it.each<[string, Partial<PeerInfo>, string]>([
    ['another version', { version: 2 }, 'PEER_VERSION_MISMATCH'],
    ['another cluster file', { clusterHash: 'decaf' }, 'PEER_CONFIG_MISMATCH'],
    ["the other side's name", { nodeId: 'b-1' }, 'PEER_REFUSED'],
  ])('a handshake refuses a peer with %s, and both sides get the reason', (_what, changes, code) => {
    const { outcomes } = converse(initiator({ self: info('a-1', changes) }), acceptor());
    expect(outcomes).toEqual([refused('peer', code), refused('self', code)]);
  });

  it('a handshake reveals nothing about the cluster file to a peer without the secret', () => {
    const stranger = initiator({ self: info('a-1', { clusterHash: 'decaf' }), secret: 'guess' });
    expect(converse(stranger, acceptor()).outcomes[1]).toEqual(refused('self', 'PEER_REFUSED'));
  });

  it('a handshake refuses a node other than the one it dialled', () => {
    const { outcomes } = converse(initiator({ expected: 'c-1' }), acceptor());
    expect(outcomes).toEqual([refused('peer', 'PEER_REFUSED'), refused('self', 'PEER_REFUSED')]);
  });

  it('a handshake leaves the final decision to its owner', () => {
    const admit = () => ({ code: 'PEER_REFUSED', detail: 'not in the cluster file' }) as const;
    expect(converse(initiator(), acceptor({ admit })).outcomes).toEqual([
      { status: 'refused', by: 'peer', claimed: null, code: 'PEER_REFUSED', detail: 'not in the cluster file' },
      { status: 'refused', by: 'self', claimed: 'a-1', code: 'PEER_REFUSED', detail: 'not in the cluster file' },
    ]);
  });

  it('a handshake refuses messages out of turn', () => {
    expect(acceptor().receive(encodeIdentity(new Uint8Array(32))).outcome).toEqual(refused('self', 'PEER_REFUSED'));
    const twice = acceptor();
    twice.receive(initiator().start().send!);
    expect(twice.receive(initiator().start().send!).outcome).toEqual(refused('self', 'PEER_REFUSED'));
  });

  it('random or damaged bytes end a handshake without a crash, at any point', () => {
    const { sent } = converse(initiator(), acceptor());
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(), fc.nat({ max: 255 }), (bytes, at, byte) => {
        expect(acceptor().receive(bytes).outcome).toEqual(refused('self', 'PEER_REFUSED'));
        const damaged = Uint8Array.from(sent[0]!);
        damaged[at % damaged.length] = byte;
        const step = acceptor().receive(damaged);
        expect(step.send).toBeDefined();
        const second = acceptor();
        second.receive(sent[0]!);
        expect(second.receive(bytes).outcome).toEqual(refused('self', 'PEER_REFUSED'));
      }),
      { numRuns: 1000 },
    );
  });

  it('a handshake accepts only unchanged hellos: with any other, the proof fails', () => {
    const honest = initiator().start().send!;
    fc.assert(
      fc.property(fc.nat({ max: honest.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const dialler = initiator();
        const listener = acceptor();
        const hello = Uint8Array.from(dialler.start().send!);
        hello[at] = hello[at]! ^ flip;
        const answer = listener.receive(hello);
        if (answer.outcome !== undefined) return expect(answer.outcome.status).toBe('refused');
        const proof = dialler.receive(answer.send!);
        return expect(listener.receive(proof.send!).outcome?.status).toBe('refused');
      }),
      { numRuns: 1000 },
    );
  });

  it('a handshake is not built without a secret', () => {
    expect(() => initiator({ secret: '' })).toThrow('secret');
    expect(() => initiator({ secondSecret: '' })).toThrow('secret');
  });
});
