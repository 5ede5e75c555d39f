/** Credentials that expire, and scripted nodes that check them. */

import type { SocketId } from '@isochron/client/effects';
import type { ClientFrame, ServerFrame } from '@isochron/wire/session-frames';
import { refusal, type ScriptedNode } from './scripted-node.js';

export class Issuer {
  /** How long new credentials are valid. */
  lifeMs = 60_000;
  /** The newest credentials. */
  newest = '';
  /** Requests that a node served, or refused as expired, with the time. */
  readonly served: { readonly type: string; readonly atMs: number; readonly expiresAt: number }[] = [];
  readonly refused: { readonly type: string; readonly atMs: number }[] = [];
  readonly #expiry = new Map<string, number>();
  readonly #sockets = new Map<SocketId, number>();

  /** @param nowMs the clock of the nodes */
  constructor(readonly nowMs: () => number) {}

  now(): number {
    return Math.floor(this.nowMs());
  }

  /** New credentials. */
  issue(): string {
    this.newest = `credentials-${this.#expiry.size + 1}`;
    this.#expiry.set(this.newest, this.now() + this.lifeMs);
    return this.newest;
  }

  /** No credentials so far are valid any more, and no connection. */
  revoke(): void {
    for (const credentials of this.#expiry.keys()) this.#expiry.set(credentials, this.now());
    for (const socket of this.#sockets.keys()) this.#sockets.set(socket, this.now());
  }

  /** A node serves only connections whose credentials are valid; then its script goes on. */
  guard(node: ScriptedNode): void {
    const { script } = node;
    node.script = (frame, reply, socket) => this.#checked(node, frame, socket) ?? script(frame, reply, socket);
  }

  #checked(node: ScriptedNode, frame: ClientFrame, socket: SocketId): ServerFrame | undefined {
    if (frame.type === 'hello' || frame.type === 'authenticate') return this.#authenticated(node, frame, socket);
    const expiresAt = this.#sockets.get(socket) ?? 0;
    const entry = { type: frame.type, atMs: this.now() };
    if (this.now() < expiresAt) {
      this.served.push({ ...entry, expiresAt });
      return undefined;
    }
    this.refused.push(entry);
    return refusal(frame.id, 'UNAUTHENTICATED', false);
  }

  #authenticated(
    node: ScriptedNode,
    frame: Extract<ClientFrame, { readonly type: 'hello' | 'authenticate' }>,
    socket: SocketId,
  ): ServerFrame {
    const now = this.now();
    const expiresAt = this.#expiry.get(frame.credentials ?? '') ?? 0;
    const id = frame.type === 'hello' ? undefined : frame.id;
    if (expiresAt <= now) return refusal(id, 'UNAUTHENTICATED', false);
    this.#sockets.set(socket, expiresAt);
    if (frame.type === 'authenticate') return { type: 'authenticated', id: frame.id, now, expiresAt };
    const welcome = node.welcome();
    return { ...welcome, freshness: { ...welcome.freshness, now }, expiresAt };
  }
}
