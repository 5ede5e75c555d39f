/**
 * Goes on with a session whose credentials have expired, and tries to make it another principal's: nodes are to refuse
 * both (U1, U2).
 */
import type { AnyMessage, NodeId, Random, Topology, WallMs } from '@isochron/core';
import type { VirtualTime } from '@isochron/simulated-world/virtual-time';
import { WallClock } from '@isochron/simulated-world/wall-clock';
import type { CredentialObservations } from '../checks/evidence/observations.js';
import { credentialsOf } from './credentials.js';
import type { ClientSocket, SocketNetwork } from './sockets.js';

/** Mean pause between two attempts, ms. */
const PAUSE_MS = 1500;
const LIFE_MS = 300;
/** How often it looks at the clock of the node, and how often in all, ms. */
const POLL_MS = 50;
const POLLS = 100;

/** The fields of an answer that it reads. */
interface AnswerHead {
  readonly type: string;
  readonly id?: number;
}

export interface IntruderWorld<M extends AnyMessage> {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly sockets: SocketNetwork<M>;
  readonly topology: Topology;
  readonly observer: CredentialObservations;
  /** The wall clock of a node. */
  wall(node: NodeId): WallMs;
}

export class Intruder<M extends AnyMessage> {
  #isStopped = false;

  constructor(readonly world: IntruderWorld<M>) {}

  start(): void {
    const { time, random } = this.world;
    time.after(PAUSE_MS * (0.5 + random.float()), () => {
      if (this.#isStopped) return;
      this.#attempt();
      this.start();
    });
  }

  stop(): void {
    this.#isStopped = true;
  }

  #attempt(): void {
    const { time, random, sockets, topology } = this.world;
    const node = random.pick(topology.nodes);
    const expiresAt = Math.floor(WallClock.truth(time) + LIFE_MS);
    const socket: ClientSocket<M> = sockets.connect(topology.regionOf(node), node, {
      opened: () => socket.write(JSON.stringify({ type: 'hello', credentials: credentialsOf('intruder', expiresAt) })),
      message: (text) => {
        const frames = [JSON.parse(text)].flat() as AnswerHead[];
        for (const frame of frames) {
          if (frame.type === 'welcome') this.#await(node, expiresAt, socket, POLLS);
          else this.#judge(node, frame, socket);
        }
      },
      closed: () => {},
    });
  }

  /** Waits until the credentials have expired by the clock of the node. */
  #await(node: NodeId, expiresAt: WallMs, socket: ClientSocket<M>, left: number): void {
    const { world } = this;
    const { time } = world;
    if (left === 0) socket.leave();
    else if (world.wall(node) < expiresAt) time.after(POLL_MS, () => this.#await(node, expiresAt, socket, left - 1));
    else {
      const credentials = credentialsOf('another', WallClock.truth(time) + 60_000);
      socket.write(
        JSON.stringify([
          { type: 'ping', id: 1 },
          { type: 'authenticate', id: 2, credentials },
        ]),
      );
    }
  }

  #judge(node: NodeId, frame: AnswerHead, socket: ClientSocket<M>): void {
    if (frame.type === 'pong') this.world.observer.servedExpired(node);
    if (frame.type === 'authenticated') this.world.observer.changedPrincipal(node);
    if (frame.id === 2) socket.leave();
  }
}
