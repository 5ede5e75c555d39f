import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { DelayLine, realTime } from '@isochron/transport/delay-line';

/** Direction of bytes: from the dialling to the listening side, or back. */
export type Way = 'there' | 'back';

/** Pieces of bytes in place of one: none, several, or others. */
export type Alteration = (chunk: Buffer, way: Way) => readonly Buffer[];

const BOTH_WAYS: readonly Way[] = ['there', 'back'];
/** Bytes that may be under way on a delayed connection before its sender has to wait. */
const MAX_UNDER_WAY = 2 ** 20;

/**
 * A TCP proxy on 127.0.0.1 that a test puts before a port, to cut its connections, delay them, let them go silent, or
 * play the attacker who holds the wire.
 */
export class TcpProxy {
  readonly #server: Server;
  readonly #sockets = new Map<Socket, Way>();
  readonly #silent = new Set<Way>();
  readonly #delayMs: Record<Way, number> = { there: 0, back: 0 };
  #isCut = false;
  #targetPort: number;
  #alter: Alteration | undefined;

  private constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = createServer((inbound) => this.#join(inbound));
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
    this.#isCut = true;
    for (const socket of this.#sockets.keys()) socket.destroy();
  }

  /** Carries no more bytes, in one direction or both, and signals that to neither side. */
  silence(ways: readonly Way[] = BOTH_WAYS): void {
    for (const way of ways) this.#silent.add(way);
    for (const [socket, way] of this.#sockets) if (this.#silent.has(way)) socket.pause();
  }

  /** Delivers bytes this much later, in ms. Bytes under way keep their place. */
  delay(delayMs: Readonly<Record<Way, number>>): void {
    Object.assign(this.#delayMs, delayMs);
  }

  /** Passes on what `alter` makes of each piece of bytes. */
  alter(alter: Alteration): void {
    this.#alter = alter;
  }

  /** Leads new connections to another port. */
  redirect(targetPort: number): void {
    this.#targetPort = targetPort;
  }

  /** Takes connections again, without a delay or alterations; silent ones go on. */
  heal(): void {
    this.#isCut = false;
    this.#alter = undefined;
    this.#silent.clear();
    this.delay({ there: 0, back: 0 });
    for (const socket of this.#sockets.keys()) socket.resume();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #join(inbound: Socket): void {
    if (this.#isCut) {
      inbound.destroy();
      return;
    }
    const outbound = connect({ host: '127.0.0.1', port: this.#targetPort, noDelay: true });
    inbound.setNoDelay(true);
    this.#carry(inbound, outbound, 'there');
    this.#carry(outbound, inbound, 'back');
  }

  #carry(from: Socket, to: Socket, way: Way): void {
    let underWay = 0;
    const resume = () => underWay < MAX_UNDER_WAY && !this.#silent.has(way) && from.resume();
    const line = new DelayLine<Buffer>(realTime, (chunk) => {
      underWay -= chunk.length;
      const pieces = this.#alter?.(chunk, way) ?? [chunk];
      // The last write has the answer: whether all before it have left the buffer, too.
      if (pieces.map((piece) => to.write(piece)).at(-1) !== false) resume();
      else from.pause();
    });
    this.#sockets.set(from, way);
    from.on('data', (chunk) => {
      underWay += chunk.length;
      if (underWay >= MAX_UNDER_WAY) from.pause();
      line.push(chunk, this.#delayMs[way]);
    });
    to.on('drain', resume);
    // Tests cause resets on purpose; 'close' follows in any case.
    from.on('error', () => from.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      line.clear();
      to.destroy();
    });
    if (this.#silent.has(way)) from.pause();
  }
}
