/** Shared by the flood tests: attackers at an address of their own, and a healthy client. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Cluster } from '../harness.js';
import { call, keyPath } from '../http.js';

/** All of 127.0.0.0/8 is this machine. Callers without keys have their shares by address. */
export const ATTACKER = '127.0.0.2';

/** Sockets of an attacker. They do not read until `resume`. */
export class Attack {
  readonly sockets: Socket[] = [];
  /** How many have ended, by either side. */
  ended = 0;

  constructor(
    readonly url: string,
    readonly address = ATTACKER,
  ) {}

  open(): Socket {
    const { hostname, port } = new URL(this.url);
    const socket = connect({ port: Number(port), host: hostname, localAddress: this.address });
    socket.on('error', () => undefined).on('close', () => this.ended++);
    this.sockets.push(socket);
    return socket;
  }

  /** Those that have not ended. */
  get left(): number {
    return this.sockets.length - this.ended;
  }

  /** How many have not ended, of sockets that are not read: there only a write detects the end. */
  probe(): number {
    for (const socket of this.sockets) if (socket.writable) socket.write('\r\n');
    return this.left;
  }

  end(): void {
    for (const socket of this.sockets) socket.destroy();
  }
}

/** Resident memory of a cluster's first node, in MB. */
export function memory(cluster: Cluster): number {
  const { pid } = cluster.process(cluster.nodes[0]!.id);
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}

/**
 * Writes and reads until `over` is true. Fails when a request is refused or slow.
 * @returns the node's highest memory meanwhile, in MB, and the number of served requests
 */
export async function healthy(cluster: Cluster, over: () => boolean): Promise<{ highest: number; served: number }> {
  const api = cluster.endpoints()[0]!;
  let highest = 0;
  let served = 0;
  do {
    const written = await call(api, 'PUT', keyPath('healthy'), { body: { served }, timeoutMs: 15_000 });
    const token = String(written.headers['isochron-session']);
    const headers = { 'isochron-session': token };
    const read = await call(api, 'GET', keyPath('healthy'), { headers, timeoutMs: 15_000 });
    expect([written.status, read.status, read.json]).toEqual([200, 200, { served }]);
    highest = Math.max(highest, memory(cluster));
    served++;
  } while (!over());
  return { highest, served };
}

const agent = new Agent({ localAddress: ATTACKER, keepAlive: true, maxSockets: 20 });

/** A request of the attacker. Resolves to status and body. */
export function attackerCall(api: string, method: string, path: string): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(api);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, method, path, agent }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    sent.on('error', reject).end();
  });
}
