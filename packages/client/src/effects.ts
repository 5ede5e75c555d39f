import type { Encoded } from './link/codec.js';

/** A socket, by the number that the machine gives it. */
export type SocketId = number;

/** What a client asks of its driver. */
export interface ClientEffects {
  open(socket: SocketId, url: string): void;
  send(socket: SocketId, message: Encoded): void;
  /** `abrupt`: without the closing handshake, where the socket can. Has no effect on one that is closed. */
  close(socket: SocketId, abrupt: boolean): void;
  /** The client of a protocol is needed: `loaded` brings it. */
  load(protocol: string): void;
  /** A `timer` is due at this time. Only the newest one counts; infinite where none is needed. */
  setTimer(atMs: number): void;
  /** A `turn` is due when the program's present turn is over: what it has asked for leaves in one message. */
  turn(): void;
  /** The status has changed. */
  changed(): void;
  log(level: 'debug' | 'warn', message: string): void;
}
