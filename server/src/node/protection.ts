/**
 * The access rules of a node and its users' settings, compared with those of its peers. A node that has none where a
 * peer has some would serve all callers what the peer guards: it serves no client. Different ones are no reason not to
 * serve: a change reaches the nodes one after the other.
 */
import type { NodeId } from '@isochron/core';
import { type Protection, UNPROTECTED } from '@isochron/wire';
import type { PartStatus, ProtectionStatus } from './api.js';

/** What a node has itself, and follows. */
export interface OwnProtection {
  readonly current: Protection;
  /** Calls `listener` after every change. */
  onChange(listener: () => void): void;
}

/** A node that has nothing and follows nothing. */
export const NO_PROTECTION: OwnProtection = { current: UNPROTECTED, onChange: () => undefined };

type Part = keyof Protection;

/** The parts, and what an operator does about a missing part. */
const PARTS: Readonly<Record<Part, { readonly what: string; readonly advice: string }>> = {
  rules: { what: 'access rules', advice: 'start it with --rules' },
  users: { what: 'credentials', advice: 'start it with --auth' },
};

export class PeerProtection {
  readonly #peers = new Map<NodeId, Protection>();
  readonly #listeners: (() => void)[] = [];
  #missing: string | undefined;

  constructor(readonly own: OwnProtection) {
    own.onChange(() => this.#look());
  }

  /** A peer has linked: what it has. */
  meets(node: NodeId, protection: Protection): void {
    this.#peers.set(node, protection);
    this.#look();
  }

  /** What this node lacks and a peer has: `without access rules, …`; undefined while it may serve. */
  get missing(): string | undefined {
    return this.#missing;
  }

  /** Calls `listener` whenever the node begins to lack something. */
  onMissing(listener: () => void): void {
    this.#listeners.push(listener);
  }

  get status(): ProtectionStatus {
    return { rules: this.#statusOf('rules'), users: this.#statusOf('users') };
  }

  #statusOf(part: Part): PartStatus {
    const hash = this.own.current[part];
    const differsFrom = [...this.#peers].filter(([, theirs]) => theirs[part] !== hash).map(([node]) => node);
    return { hash, differsFrom: differsFrom.sort(), missing: this.#holders(part).length > 0 };
  }

  /** The peers that have what this node has not. */
  #holders(part: Part): NodeId[] {
    if (this.own.current[part] !== null) return [];
    return [...this.#peers].filter(([, theirs]) => theirs[part] !== null).map(([node]) => node);
  }

  #look(): void {
    const before = this.#missing;
    const lacks = (part: Part): string[] => {
      const holders = this.#holders(part);
      const { what, advice } = PARTS[part];
      return holders.length === 0 ? [] : [`without ${what}, which ${holders.sort().join(', ')} has: ${advice}`];
    };
    const all = [...lacks('rules'), ...lacks('users')];
    this.#missing = all.length === 0 ? undefined : all.join('; ');
    if (before === undefined && this.#missing !== undefined) for (const listener of this.#listeners) listener();
  }
}
