/** Bounds of callers before they are authenticated: connections, in all and for each address, and bytes. */
import type { Socket } from 'node:net';
import { Quota } from '@isochron/core';
import type { NodeLimits } from '../http/limits/limits.js';

export type StrangerLimits = Pick<NodeLimits, 'strangers' | 'strangersPerAddress' | 'strangerBytes'>;

/** Connections without a hello. */
export class Strangers {
  readonly #quota: Quota;

  constructor(
    readonly limits: StrangerLimits,
    /** Takes the name of each limit that is reached. */
    readonly reached: (limit: keyof StrangerLimits) => void,
  ) {
    this.#quota = new Quota(limits.strangers, limits.strangersPerAddress);
  }

  /**
   * Takes a connection. It is destroyed when it sends too many bytes.
   * @returns a function to call when it sends its hello or ends; undefined when there are too many
   */
  admit(socket: Socket): (() => void) | undefined {
    const leave = this.take(socket.remoteAddress ?? '');
    if (leave === undefined) return undefined;
    const end = socket.bytesRead + this.limits.strangerBytes;
    const check = (): void => {
      if (socket.bytesRead <= end) return;
      this.reached('strangerBytes');
      socket.destroy();
    };
    socket.on('data', check);
    return () => {
      socket.off('data', check);
      leave();
    };
  }

  /**
   * Takes a session of a shared socket.
   * @returns a function to call when it sends its hello or ends; undefined when there are too many
   */
  take(address: string): (() => void) | undefined {
    if (!this.#quota.take(address)) {
      this.reached('strangers');
      return undefined;
    }
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#quota.give(address);
    };
  }
}
