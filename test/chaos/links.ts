/** A proxy between each two nodes. */

import { TcpProxy } from '@isochron/testing/transport/tcp-proxy';
import { dials } from '@isochron/transport';
import type { Pair } from './faults.js';

export class PeerLinks {
  readonly pairs: readonly Pair[];
  readonly #proxies: ReadonlyMap<string, TcpProxy>;

  readonly #scheme: 'ws' | 'wss';

  private constructor(pairs: readonly Pair[], proxies: ReadonlyMap<string, TcpProxy>, tls: boolean) {
    this.pairs = pairs;
    this.#scheme = tls ? 'wss' : 'ws';
    this.#proxies = proxies;
  }

  /**
   * @param ports where each node listens for peers, by its id
   * @param tls whether the nodes use TLS; the proxies pass its bytes on unchanged
   */
  static async open(ports: ReadonlyMap<string, number>, tls = false): Promise<PeerLinks> {
    const pairs = [...ports.keys()].flatMap((from) =>
      [...ports.keys()].filter((to) => dials(from, to)).map((to): Pair => [from, to]),
    );
    const proxies = new Map<string, TcpProxy>();
    for (const pair of pairs) proxies.set(nameOf(pair), await TcpProxy.open(ports.get(pair[1])!));
    return new PeerLinks(pairs, proxies, tls);
  }

  proxy(pair: Pair): TcpProxy {
    return this.#proxies.get(nameOf(pair))!;
  }

  /** The option of a node that makes it dial its peers through the proxies; empty for a node that dials no peer. */
  dialOption(node: string): string[] {
    const urls = this.pairs
      .filter(([from]) => from === node)
      .map((pair) => `${pair[1]}=${this.#scheme}://127.0.0.1:${this.proxy(pair).port}`);
    return urls.length === 0 ? [] : ['--peer-dial', urls.join(',')];
  }

  heal(): void {
    for (const proxy of this.#proxies.values()) proxy.heal();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy.close()));
  }
}

const nameOf = ([from, to]: Pair): string => `${from} ${to}`;
