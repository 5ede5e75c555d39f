import { IsochronError, invariant, MalformedMessage } from '@isochron/core';
import {
  decodeContent,
  decodeHandshake,
  encodeContent,
  encodeHello,
  encodeIdentity,
  encodeRefusal,
  type HandshakeMessage,
  type HandshakeRole,
  type Hello,
  type PeerInfo,
  type Refusal,
} from './hello.js';
import { seal, sealingKey, unseal } from './proof.js';

/** The outcome of a handshake. `by` is the side that refused, `claimed` the node id that the peer sent. */
export type HandshakeOutcome =
  | { readonly status: 'accepted'; readonly peer: PeerInfo }
  | ({ readonly status: 'refused'; readonly by: 'self' | 'peer'; readonly claimed: string | null } & Refusal);

/** The result of one input: a message to send, an end, both, or neither. */
export interface HandshakeStep {
  readonly send?: Uint8Array;
  readonly outcome?: HandshakeOutcome;
}

export interface HandshakeOptions {
  readonly role: HandshakeRole;
  readonly self: PeerInfo;
  /** Known to all nodes of the cluster, never sent. Not empty. */
  readonly secret: string | Uint8Array;
  /** Accepted as well, while one secret replaces the other. */
  readonly secondSecret?: string | Uint8Array | undefined;
  /** Fresh and random for every handshake, `NONCE_BYTES` long. */
  readonly nonce: Uint8Array;
  /** The node that was dialled. */
  readonly expected?: string;
  /** Final decision on a peer with a valid proof: a refusal, or undefined. */
  readonly admit?: (peer: PeerInfo) => Refusal | undefined;
}

const LABELS: Readonly<Record<HandshakeRole, string>> = {
  initiator: 'isochron peer link, initiator',
  acceptor: 'isochron peer link, acceptor',
};

/**
 * Mutual authentication of two nodes, without I/O: hello →, ← hello, identity →, ← identity. A hello holds only a
 * version and a nonce. An identity is sealed with a key of the secret and both hellos, which is the proof as well: a
 * stranger learns no node, store, cluster file or clock. The dialling side proves itself first, so that a stranger who
 * dials gets no data to guess a secret from. A dialling side with two secrets seals its identity under each; the
 * accepting side seals its own under the secret that could open it. Whatever arrives, a step ends in a message or an
 * outcome; it never throws.
 */
export class Handshake {
  readonly #options: HandshakeOptions;
  readonly #ownHello: Uint8Array;
  /** The secrets that the peer may have: only one, once it has proved that. */
  #secrets: readonly (string | Uint8Array)[];
  #state: 'hello' | 'identity' | 'done' = 'hello';
  #claimed: string | null = null;
  #peerHello: { readonly hello: Hello; readonly bytes: Uint8Array } | undefined;

  /** Throws `CONFIG_INVALID` when the secret is empty. */
  constructor(options: HandshakeOptions) {
    const { secret, secondSecret } = options;
    this.#secrets = secondSecret === undefined ? [secret] : [secret, secondSecret];
    if (this.#secrets.some(({ length }) => length === 0))
      throw new IsochronError('CONFIG_INVALID', 'the secret of the cluster is empty');
    this.#options = options;
    const { role, nonce } = options;
    this.#ownHello = encodeHello({ version: options.self.version, role, nonce });
  }

  /** The first message, when the connection opens. */
  start(): HandshakeStep {
    return this.#options.role === 'initiator' ? { send: this.#ownHello } : {};
  }

  /** Takes the next message of the peer. */
  receive(bytes: Uint8Array): HandshakeStep {
    invariant(this.#state !== 'done', 'the handshake is over');
    try {
      return this.#take(decodeHandshake(bytes, this.#options.self.version), bytes);
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      return this.#refuse('PEER_REFUSED', `malformed handshake: ${error.message}`);
    }
  }

  #take(message: HandshakeMessage, bytes: Uint8Array): HandshakeStep {
    if (message.kind === 'refused') return this.#end({ by: 'peer', ...message.refusal });
    if (message.kind === 'other-version') {
      const { version } = this.#options.self;
      return this.#refuse('PEER_VERSION_MISMATCH', `the peer has version ${message.version}, this node ${version}`);
    }
    if (message.kind === 'hello' && this.#state === 'hello') return this.#takeHello(message.hello, bytes);
    if (message.kind === 'identity' && this.#state === 'identity') return this.#takeIdentity(message.sealed);
    return this.#refuse('PEER_REFUSED', `malformed handshake: a ${message.kind} out of turn`);
  }

  #takeHello(hello: Hello, bytes: Uint8Array): HandshakeStep {
    const { role } = this.#options;
    // Copied: the bytes of a received message belong to the socket.
    this.#peerHello = { hello, bytes: Uint8Array.from(bytes) };
    if (hello.role === role) return this.#refuse('PEER_REFUSED', `both sides are ${role}`);
    this.#state = 'identity';
    return { send: role === 'initiator' ? this.#ownIdentity() : this.#ownHello };
  }

  #takeIdentity(sealed: readonly Uint8Array[]): HandshakeStep {
    const { role, self, expected, admit } = this.#options;
    const opened = this.#unseal(sealed);
    if (opened === undefined) return this.#refuse('PEER_REFUSED', 'the peer has not proved the secret');
    const { expected: dialled = self.nodeId, ...peer } = decodeContent(opened);
    this.#claimed = peer.nodeId;
    const refusal = mismatch(peer, expected) ?? mismatch(self, dialled) ?? unlike(peer, self) ?? admit?.(peer);
    if (refusal !== undefined) return this.#refuse(refusal.code, refusal.detail);
    this.#state = 'done';
    const outcome = { status: 'accepted', peer } as const;
    return role === 'acceptor' ? { send: this.#ownIdentity(), outcome } : { outcome };
  }

  #ownIdentity(): Uint8Array {
    const { role, self, expected } = this.#options;
    const content = encodeContent({ ...self, expected });
    return encodeIdentity(...this.#secrets.map((secret) => seal(this.#key(role, secret), content)));
  }

  /** The peer's identity, sealed under a secret of this side, which is used from then on. */
  #unseal(sealed: readonly Uint8Array[]): Uint8Array | undefined {
    const { role } = this.#peerHello!.hello;
    for (const secret of this.#secrets) {
      const key = this.#key(role, secret);
      for (const one of sealed) {
        const opened = unseal(key, one);
        if (opened === undefined) continue;
        this.#secrets = [secret];
        return opened;
      }
    }
    return undefined;
  }

  #key(of: HandshakeRole, secret: string | Uint8Array): Uint8Array {
    const theirs = this.#peerHello!.bytes;
    const hellos: [Uint8Array, Uint8Array] =
      this.#options.role === 'initiator' ? [this.#ownHello, theirs] : [theirs, this.#ownHello];
    return sealingKey(secret, LABELS[of], ...hellos);
  }

  #refuse(code: Refusal['code'], detail: string): HandshakeStep {
    return { send: encodeRefusal({ code, detail }), ...this.#end({ by: 'self', code, detail }) };
  }

  #end(refusal: Refusal & { readonly by: 'self' | 'peer' }): HandshakeStep {
    this.#state = 'done';
    return { outcome: { status: 'refused', claimed: this.#claimed, ...refusal } };
  }
}

/** Why a node is not the dialled node. */
const mismatch = ({ nodeId }: PeerInfo, expected: string | undefined): Refusal | undefined =>
  expected === undefined || nodeId === expected
    ? undefined
    : { code: 'PEER_REFUSED', detail: `expected ${expected}, found ${nodeId}` };

/** Why two nodes with the same secret do not link. */
function unlike(peer: PeerInfo, self: PeerInfo): Refusal | undefined {
  if (peer.nodeId === self.nodeId)
    return { code: 'PEER_REFUSED', detail: `the peer is called ${self.nodeId}, as this node is` };
  const differs = (detail: string): Refusal => ({ code: 'PEER_CONFIG_MISMATCH', detail });
  if (peer.clusterHash !== self.clusterHash)
    return differs(`the peer's cluster file has the hash ${peer.clusterHash}, not ${self.clusterHash}`);
  return undefined;
}
