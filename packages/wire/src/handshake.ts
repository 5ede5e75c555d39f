import { IsochronError, invariant, MalformedMessage } from '@isochron/core';
import {
  decodeHandshake,
  encodeHello,
  encodeProof,
  encodeRefusal,
  type HandshakeMessage,
  type HandshakeRole,
  type Hello,
  type PeerInfo,
  type Refusal,
} from './hello.js';
import { proofOf, sameProof } from './proof.js';

/** How a handshake ended. `by` says which side refused, `claimed` which node the peer said it was. */
export type HandshakeOutcome =
  | { readonly status: 'accepted'; readonly peer: PeerInfo }
  | ({ readonly status: 'refused'; readonly by: 'self' | 'peer'; readonly claimed: string | null } & Refusal);

/** What one input leads to: a message to send, an end, both, or neither. */
export interface HandshakeStep {
  readonly send?: Uint8Array;
  readonly outcome?: HandshakeOutcome;
}

export interface HandshakeOptions {
  readonly role: HandshakeRole;
  readonly self: PeerInfo;
  /** Known to all nodes of the cluster, never sent. Not empty. */
  readonly secret: string | Uint8Array;
  /** Fresh and random for every handshake, `NONCE_BYTES` long. */
  readonly nonce: Uint8Array;
  /** The node that was dialled. */
  readonly expected?: string;
  /** Last word on a peer that proved itself: a refusal, or undefined. */
  readonly admit?: (peer: PeerInfo) => Refusal | undefined;
}

const LABELS: Readonly<Record<HandshakeRole, string>> = {
  initiator: 'isochron peer link, initiator',
  acceptor: 'isochron peer link, acceptor',
};

/**
 * Mutual authentication of two nodes, without I/O: hello →, ← hello, proof →, ← proof. The dialling side proves
 * itself first, so that a stranger who dials learns nothing that a secret could be guessed from. The cluster file's hash is
 * compared after the proofs. Whatever arrives, a step ends in a message or an outcome; it never throws.
 */
export class Handshake {
  readonly #options: HandshakeOptions;
  readonly #ownHello: Uint8Array;
  #state: 'hello' | 'proof' | 'done' = 'hello';
  #peerHello: { readonly hello: Hello; readonly bytes: Uint8Array } | undefined;

  /** Throws `CONFIG_INVALID` when the secret is empty. */
  constructor(options: HandshakeOptions) {
    if (options.secret.length === 0) throw new IsochronError('CONFIG_INVALID', 'the secret of the cluster is empty');
    this.#options = options;
    this.#ownHello = encodeHello({ ...options.self, role: options.role, nonce: options.nonce });
  }

  /** What to send when the connection opens. */
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
      return this.#refuse('PEER_VERSION_MISMATCH', `the peer speaks version ${message.version}, this node ${version}`);
    }
    if (message.kind === 'hello' && this.#state === 'hello') return this.#takeHello(message.hello, bytes);
    if (message.kind === 'proof' && this.#state === 'proof') return this.#takeProof(message.proof);
    return this.#refuse('PEER_REFUSED', `malformed handshake: a ${message.kind} out of turn`);
  }

  #takeHello(hello: Hello, bytes: Uint8Array): HandshakeStep {
    const { role, self, expected } = this.#options;
    // Copied: the bytes of a received message belong to the socket.
    this.#peerHello = { hello, bytes: Uint8Array.from(bytes) };
    if (hello.role === role) return this.#refuse('PEER_REFUSED', `both sides are ${role}`);
    if (hello.nodeId === self.nodeId)
      return this.#refuse('PEER_REFUSED', `the peer is called ${self.nodeId}, as this node is`);
    if (expected !== undefined && hello.nodeId !== expected) {
      return this.#refuse('PEER_REFUSED', `expected ${expected}, found ${hello.nodeId}`);
    }
    this.#state = 'proof';
    return { send: role === 'initiator' ? encodeProof(this.#proof('initiator')) : this.#ownHello };
  }

  #takeProof(proof: Uint8Array): HandshakeStep {
    const { role, self, admit } = this.#options;
    const { hello } = this.#peerHello!;
    if (!sameProof(proof, this.#proof(hello.role)))
      return this.#refuse('PEER_REFUSED', 'the peer does not know the secret');
    if (hello.clusterHash !== self.clusterHash) {
      return this.#refuse(
        'PEER_CONFIG_MISMATCH',
        `the peer's cluster file is ${hello.clusterHash}, not ${self.clusterHash}`,
      );
    }
    if (hello.epoch !== self.epoch) {
      return this.#refuse('PEER_CONFIG_MISMATCH', `the peer is in epoch ${hello.epoch}, this node in ${self.epoch}`);
    }
    const { role: _role, nonce: _nonce, ...peer } = hello;
    const refusal = admit?.(peer);
    if (refusal !== undefined) return this.#refuse(refusal.code, refusal.detail);
    this.#state = 'done';
    const outcome = { status: 'accepted', peer } as const;
    return role === 'acceptor' ? { send: encodeProof(this.#proof('acceptor')), outcome } : { outcome };
  }

  #proof(of: HandshakeRole): Uint8Array {
    const theirs = this.#peerHello!.bytes;
    const hellos: [Uint8Array, Uint8Array] =
      this.#options.role === 'initiator' ? [this.#ownHello, theirs] : [theirs, this.#ownHello];
    return proofOf(this.#options.secret, LABELS[of], ...hellos);
  }

  #refuse(code: Refusal['code'], detail: string): HandshakeStep {
    return { send: encodeRefusal({ code, detail }), ...this.#end({ by: 'self', code, detail }) };
  }

  #end(refusal: Refusal & { readonly by: 'self' | 'peer' }): HandshakeStep {
    this.#state = 'done';
    return { outcome: { status: 'refused', claimed: this.#peerHello?.hello.nodeId ?? null, ...refusal } };
  }
}
