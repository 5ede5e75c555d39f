/** What a connection does for its session, by the kind of the cluster's protocol. */
import type { Timestamp } from '@isochron/core';
import type { RawFrame } from '@isochron/sessions/served/frames';
import type { AnswerFrame, WelcomeFrame } from '@isochron/wire/session-frames';
import type { ApiContext } from '../http/context.js';
import type { Codec, Encoded } from './codec.js';

/** An answer that may be large: it is encoded when it can leave. */
export interface LargeAnswer {
  /** About how many bytes it is. */
  readonly bytes: number;
  encode(): Encoded;
}

/** An answer: a frame, or what becomes one. */
export type Answer = AnswerFrame | LargeAnswer;

/** Throws, or rejects with, an IsochronError. */
export type Serve = (frame: RawFrame, id: number) => Promise<Answer>;

export interface ServedSession {
  /** Highest stable time that the client was told. */
  told: Timestamp;
  /** Begins, or goes on with what a token says. @throws IsochronError for a bad token */
  begin(principal: string, token: string | undefined): void;
  /** What the greeting says of it. */
  greeting(): Pick<WelcomeFrame, 'ust' | 'deps' | 'stable' | 'seen' | 'hwt' | 'token'>;
  /** Serves requests of this type; undefined where there is none such. */
  serves(type: unknown): Serve | undefined;
}

/** What requests of every kind of session need. */
export interface RequestContext {
  readonly api: ApiContext;
  readonly codec: Codec;
  /** Takes in a stable time, and returns the token that says so when there is one. */
  sawStable(ust: Timestamp): string | undefined;
  /** Takes in what another connection of the session was given. @throws IsochronError for a bad token */
  learn(token: string): string | undefined;
}
