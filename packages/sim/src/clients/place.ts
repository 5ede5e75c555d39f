/** The place of a client in the simulated world. */
import type { OpenEngine, SocketId } from '@isochron/client';
import type { AnyMessage, Random, Topology } from '@isochron/core';
import type { VirtualTime } from '@isochron/simulated-world/virtual-time';
import type { LiveObservations, NoteObservations } from '../checks/evidence/observations.js';
import type { SocketNetwork } from './sockets.js';

/** The place of a client. */
export interface ClientPlace<M extends AnyMessage> {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly sockets: SocketNetwork<M>;
  readonly topology: Topology;
  readonly requestTimeoutMs: number;
  /** After this time an unfinished commit is reported to the application as unknown. */
  readonly commitTimeoutMs: number;
  /** How long its credentials are valid; undefined where it has none. */
  readonly credentialsMs: number | undefined;
  readonly engine: OpenEngine;
  /** Its principal; absent: one of its own, where it has credentials. */
  readonly principal?: string | undefined;
  /** Its name for observers. */
  readonly session: string;
  readonly observer: LiveObservations & NoteObservations;
  note(what: () => string): void;
}

/** A message of a client: reported where its plan names its principal. */
export function tapped<M extends AnyMessage>(
  { principal, session, observer }: ClientPlace<M>,
  name: keyof NoteObservations,
  socket: SocketId,
  text: string,
): string {
  if (principal !== undefined) observer[name](principal, `${session}/${socket}`, text);
  return text;
}
