/** Credentials that expire, and nodes that check them. */
import { ANONYMOUS_PRINCIPAL, IsochronError, type Principal } from '@isochron/core';
import type { MemoryCluster } from '../nodes/memory-cluster.js';
import type { MemoryNode } from '../nodes/memory-node.js';

/** The refusal of the credentials themselves. */
const INVALID = 'The credentials are not valid.';

export class Issuer {
  /** How long new credentials are valid. */
  lifeMs = 60_000;
  /** How often a node refused a request because the credentials of its session had expired. */
  refusals = 0;
  /** The principal of each credentials, until they expire. */
  readonly #principals = new Map<string, Principal & { expiresAt: number }>();

  /** @param cluster whose nodes check the credentials, by their clock */
  constructor(readonly cluster: MemoryCluster) {}

  /** New credentials. */
  issue(): string {
    const credentials = `credentials-${this.#principals.size + 1}`;
    const expiresAt = Math.floor(this.cluster.now) + this.lifeMs;
    this.#principals.set(credentials, { ...ANONYMOUS_PRINCIPAL, expiresAt });
    return credentials;
  }

  /** No credentials so far are valid any more, and no connection. */
  revoke(): void {
    for (const principal of this.#principals.values()) principal.expiresAt = 0;
  }

  /** A node serves only connections whose credentials are valid. */
  guard(node: MemoryNode): void {
    const { sends } = node;
    node.authenticate = (credentials, done) => done(this.#principalOf(credentials));
    node.sends = (frame, socket) => {
      if (frame.type === 'error' && frame.code === 'UNAUTHENTICATED' && frame.detail !== INVALID) this.refusals++;
      return sends(frame, socket);
    };
  }

  #principalOf(credentials = ''): Principal | IsochronError {
    const principal = this.#principals.get(credentials);
    if (principal !== undefined && principal.expiresAt > this.cluster.now) return principal;
    return new IsochronError('UNAUTHENTICATED', INVALID);
  }
}
