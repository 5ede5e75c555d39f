import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy on 127.0.0.1 that a test puts before a port, to cut its connections or let them go silent. */
export class TcpProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #mode: 'open' | 'cut' | 'silent' = 'open';

  private constructor(targetPort: number) {
    this.#server = createServer((inbound) => this.#join(inbound, targetPort));
  }

  static async open(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Resets all connections and refuses new ones. */
  cut(): void {
    this.#mode = 'cut';
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Carries no more bytes, and says nothing to anyone. */
  silence(): void {
    this.#mode = 'silent';
    for (const socket of this.#sockets) socket.pause();
  }

  /** Takes connections again; silent ones go on. */
  heal(): void {
    this.#mode = 'open';
    for (const socket of this.#sockets) socket.resume();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #join(inbound: Socket, targetPort: number): void {
    if (this.#mode === 'cut') {
      inbound.destroy();
      return;
    }
    const outbound = connect({ host: '127.0.0.1', port: targetPort, noDelay: true });
    inbound.setNoDelay(true);
    this.#carry(inbound, outbound);
    this.#carry(outbound, inbound);
  }

  #carry(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.on('data', (chunk) => {
      if (!to.write(chunk)) from.pause();
    });
    to.on('drain', () => this.#mode === 'open' && from.resume());
    // A reset is what a test asks for; either way 'close' follows.
    from.on('error', () => from.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
    if (this.#mode === 'silent') from.pause();
  }
}
