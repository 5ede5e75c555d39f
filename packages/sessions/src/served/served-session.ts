/** A connection's session, by the family of the cluster's protocol, and the services of its node. */
import type {
  IsochronError,
  NodeId,
  Principal,
  RegionId,
  SessionCut,
  Timestamp,
  Topology,
  WallMs,
} from '@isochron/core';
import type { Unresponsive } from '@isochron/protocols';
import type { Freshness, WelcomeFrame } from '@isochron/wire/session-frames';
import type { Done } from '../coordinator/request-port.js';
import type { Offer } from '../requests/capabilities.js';
import type { Rules } from '../requests/rules.js';
import type { Answer } from './answers.js';
import type { RawFrame } from './frames.js';
import type { Identity } from './identity.js';
import type { Serving } from './serving.js';
import type { After } from './stable-waiters.js';

/** The node that serves sessions, and its driver. */
export interface ServedNode {
  readonly id: NodeId;
  readonly region: RegionId;
  /** Id of the cluster. */
  readonly cluster: string;
  readonly protocol: Offer;
  readonly topology: Topology;
  /** The cluster's limits, as rules for requests. */
  readonly rules: Rules;
  readonly maxTransactionMs: number;
  /** Requests that one connection may have in flight. */
  readonly credits: number;
  /** The cluster's `stalenessAlertMs`. */
  readonly stalenessAlertMs?: number;
  /** All regions and the API endpoints of their nodes. */
  readonly regions: WelcomeFrame['regions'];
  readonly serving: Serving;
  /** The node's wall clock. */
  now(): WallMs;
  /** The latest timestamp that a client may name here (T1). */
  latest(): Timestamp;
  /** Its stable time. */
  ust(): Timestamp;
  freshness(): Freshness;
  /** Version of the map that it has adopted (M6). */
  map(): number;
  /** The adopted maps above a version that have suspended nodes (M10). */
  cutsAfter(version: number): readonly SessionCut[];
  /** Nodes and regions that do not answer this one. */
  unresponsive(): Unresponsive;
  /**
   * Ends with the principal of credentials, perhaps before it returns, or with `UNAUTHENTICATED`; `RATE_LIMITED` after
   * too many wrong ones. @param stranger address of a client that is not authenticated yet
   */
  authenticate(credentials: string | undefined, done: Done<Principal>, stranger?: string): void;
  /** The holder of the share of the node that this principal and address use. */
  client(principal: Principal, address: string): string;
  /** From 0, below 1. */
  random(): number;
  readonly after: After;
  /** A request has ended with `INTERNAL`: for the log. */
  failed(cause: unknown): void;
  /** A hello or request was refused for its credentials or its permissions: for the audit. */
  refused(refused: Refused): void;
}

/** A request that was refused. */
export interface Refused {
  readonly error: IsochronError;
  /** Undefined before the caller is authenticated. */
  readonly principal: Principal | undefined;
  readonly address: string;
  /** The route, or the type of the frame. */
  readonly request: string;
}

/** Takes the answer of a request, or its error. Called once. */
export type Reply = Done<Answer>;

export interface ServedSession {
  /** The highest stable time that was sent to the client. */
  sentUst: Timestamp;
  /**
   * Begins, or continues from a token. @param client the holder of its share of the node
   * @throws IsochronError for a bad token
   */
  begin(principal: Principal, client: string, token: string | undefined): void;
  /** Version of the map that its token names: the client judges its writes by the cuts above (M10). */
  readonly knownMap?: number | undefined;
  /** Whose it is, until when. */
  readonly identity: Identity;
  /** Its part of the greeting. */
  greeting(): Pick<WelcomeFrame, 'ust' | 'deps' | 'stable' | 'seen' | 'hwt' | 'token'>;
  /** Requests that wait for changes: their client is not in a hurry. */
  readonly waiting: number;
  /** The connection is gone. */
  end(): void;
  /** Whether there are requests of this type. */
  serves(type: unknown): boolean;
  /** Whether requests of this type wait for changes. */
  follows(type: unknown): boolean;
  /** Serves a request of such a type. @throws IsochronError instead of a reply, for a request that cannot be served */
  serve(frame: RawFrame, id: number, reply: Reply): void;
}

/** The needs of requests of every kind of session. */
export interface RequestContext {
  readonly node: ServedNode;
  readonly identity: Identity;
  /** The holder of the session's share of the node. */
  readonly client: string;
  /** Takes a stable time, and returns the token that contains it if there is a new one. */
  sawStable(ust: Timestamp): string | undefined;
  /** Takes a token of another connection of the session. @throws IsochronError for a bad token */
  learn(token: string): string | undefined;
}
