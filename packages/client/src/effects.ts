import type { Encoded } from './link/codec.js';

/** A socket, by the number that the machine gives it. */
export type SocketId = number;

/** The effects that a client requests from its driver. */
export interface ClientEffects {
  open(socket: SocketId, url: string): void;
  send(socket: SocketId, message: Encoded): void;
  /** `abrupt`: without the closing handshake, where the socket can. No effect on a closed socket. */
  close(socket: SocketId, abrupt: boolean): void;
  /** The client of a protocol is needed: `loaded` brings it. */
  load(protocol: string): void;
  /** New credentials are needed: `credentials` brings them. Only with `renewal`, and one request at a time. */
  authenticate(): void;
  /** A `timer` is due at this time. Only the newest one counts; infinity cancels it. */
  setTimer(atMs: number): void;
  /** A `turn` is due when the program's present turn is over: all requests of a turn leave in one message. */
  turn(): void;
  /** The status has changed. */
  changed(): void;
  log(level: 'debug' | 'warn', message: string): void;
}
