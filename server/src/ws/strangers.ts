/**
 * Bounds of what callers may take before they are authenticated: connections, in all and for each address, and bytes.
 */
import type { Socket } from 'node:net';

/** What strangers may have. */
export interface StrangerLimits {
  readonly connections: number;
  readonly perAddress: number;
  /** Bytes that each may send: a hello, with its credentials and token. */
  readonly bytes: number;
}

/** Together at most 256 MiB, and no more than 64 MiB from one address. */
const DEFAULT_LIMITS: StrangerLimits = { connections: 1024, perAddress: 256, bytes: 256 * 1024 };

/** Connections that are strangers yet. */
export class Strangers {
  readonly #addresses = new Map<string, number>();
  #size = 0;

  constructor(readonly limits: StrangerLimits = DEFAULT_LIMITS) {}

  /**
   * Takes a connection in. It is destroyed when it sends too much.
   * @returns what to call once it is no stranger any more or has ended; undefined when there are too many
   */
  admit(socket: Socket): (() => void) | undefined {
    const { connections, perAddress, bytes } = this.limits;
    const address = socket.remoteAddress ?? '';
    const others = this.#addresses.get(address) ?? 0;
    if (this.#size >= connections || others >= perAddress) return undefined;
    this.#size++;
    this.#addresses.set(address, others + 1);
    const end = socket.bytesRead + bytes;
    const check = (): void => {
      if (socket.bytesRead > end) socket.destroy();
    };
    socket.on('data', check);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      socket.off('data', check);
      this.#leave(address);
    };
  }

  #leave(address: string): void {
    this.#size--;
    const others = this.#addresses.get(address)! - 1;
    if (others === 0) this.#addresses.delete(address);
    else this.#addresses.set(address, others);
  }
}
