/**
 * Bounds of what callers may take before they are authenticated: connections, in all and for each address, and bytes.
 */
import type { Socket } from 'node:net';
import { Quota } from '@isochron/core';
import type { NodeLimits } from '../http/limits.js';

export type StrangerLimits = Pick<NodeLimits, 'strangers' | 'strangersPerAddress' | 'strangerBytes'>;

/** Connections that are strangers yet. */
export class Strangers {
  readonly #quota: Quota;

  constructor(readonly limits: StrangerLimits) {
    this.#quota = new Quota(limits.strangers, limits.strangersPerAddress);
  }

  /**
   * Takes a connection in. It is destroyed when it sends too much.
   * @returns what to call once it is no stranger any more or has ended; undefined when there are too many
   */
  admit(socket: Socket): (() => void) | undefined {
    const leave = this.take(socket.remoteAddress ?? '');
    if (leave === undefined) return undefined;
    const end = socket.bytesRead + this.limits.strangerBytes;
    const check = (): void => {
      if (socket.bytesRead > end) socket.destroy();
    };
    socket.on('data', check);
    return () => {
      socket.off('data', check);
      leave();
    };
  }

  /**
   * Takes in a session of a socket that others share.
   * @returns what to call once it is no stranger any more or has ended; undefined when there are too many
   */
  take(address: string): (() => void) | undefined {
    if (!this.#quota.take(address)) return undefined;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#quota.give(address);
    };
  }
}
