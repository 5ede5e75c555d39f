/**
 * A connection's session under protocols of single operations. The client keeps it, and sends its state with every
 * request; this side signs the new state.
 */
import { holderOf, type Principal, type RegionId, type Timestamp, type Version } from '@isochron/core';
import type { GetResp, OperationSession, OperationSessionState, PutResp, RotResp } from '@isochron/protocols';
import type { WireDependency, WireSeen } from '@isochron/wire/session-frames';
import { REQUEST_FRAMES as FRAMES } from '@isochron/wire/session-frames/requests';
import type { OperationsPort } from '../coordinator/coordinator-port.js';
import { answerBytes } from '../requests/answer-size.js';
import { requireCapability } from '../requests/capabilities.js';
import type { OperationTokens } from '../tokens/operation-token.js';
import type { Answer, FrameEncoder } from './answers.js';
import { attemptRegionsOf, type Checked, keysOf, plainOf, type RawFrame, requiredTx, seenOf } from './frames.js';
import { Identity } from './identity.js';
import { answered, COMMON_REQUESTS, checked, type Handlers, handlerOf, type Request, refuse } from './requests.js';
import type { Reply, RequestContext, ServedNode, ServedSession } from './served-session.js';

/** The parts of a node that sessions of single operations need. */
export interface OperationParts {
  readonly coordinator: OperationsPort;
  readonly tokens: OperationTokens;
  /** A client's session, under the cluster's protocol. */
  session(id: string, region: RegionId, state?: OperationSessionState): OperationSession;
}

export class ConnectedOperations implements ServedSession, RequestContext {
  sentUst: Timestamp = 0;
  readonly identity: Identity;
  client = '';
  readonly waiting = 0;
  #token = '';
  #seen: WireSeen | undefined;

  constructor(
    readonly node: ServedNode,
    readonly parts: OperationParts,
  ) {
    this.identity = new Identity(node);
  }

  get principal(): Principal {
    return this.identity.principal;
  }

  begin(principal: Principal, client: string, token: string | undefined): void {
    this.identity.begin(principal);
    this.client = client;
    const { node } = this;
    const { tokens } = this.parts;
    const state = token === undefined ? undefined : tokens.decode(token, node.latest(), holderOf(principal));
    const session = this.parts.session('', node.region, state);
    session.observe(node.ust());
    this.sentUst = session.ust;
    this.#token = tokens.mint(session.export(), holderOf(principal));
    const { seen, region, depends } = session.export();
    this.#seen = state === undefined ? undefined : { seen, region, ...dependsField(depends) };
  }

  greeting(): ReturnType<ServedSession['greeting']> {
    const { sentUst, node } = this;
    return {
      ust: sentUst,
      stable: node.ust(),
      ...(this.#seen === undefined ? {} : { seen: this.#seen }),
      hwt: 0,
      token: this.#token,
    };
  }

  serves(type: unknown): boolean {
    return handlerOf<ConnectedOperations>(OPERATION_REQUESTS, type) !== undefined;
  }

  /** No protocol with single operations has a change feed. */
  follows(): boolean {
    return false;
  }

  serve(frame: RawFrame, id: number, reply: Reply): void {
    handlerOf<ConnectedOperations>(OPERATION_REQUESTS, frame.type)!(frame, id, this, reply);
  }

  end(): void {
    this.identity.end();
  }

  sawStable(ust: Timestamp): undefined {
    if (ust > this.sentUst) this.sentUst = ust;
  }

  /** The client keeps its session itself. */
  learn(token: string): undefined {
    this.parts.tokens.decode(token, this.node.latest(), holderOf(this.principal));
  }

  /** The session of a request. */
  sessionOf(frame: Checked<WireSeen>): OperationSession {
    return this.parts.session('', this.node.region, { ...seenOf(frame, this.node.rules), ust: 0 });
  }

  tokenAfter(session: OperationSession, answer: GetResp | RotResp | PutResp): string {
    session.answered(answer);
    return this.parts.tokens.mint(session.export(), holderOf(this.principal));
  }

  /** The answer to a read, with all that its session needs. */
  got(id: number, session: OperationSession, answer: GetResp | RotResp, versions: readonly (Version | null)[]): Answer {
    const { seen, ust, depends } = answer;
    const bytes = answerBytes(versions, this.node.rules.maxAnswerBytes);
    const token = this.tokenAfter(session, answer);
    return {
      bytes,
      encode: (encoder) => {
        const values = versions.map((version) => valueIn(version, encoder));
        return encoder.frame({ type: 'got', id, values, seen, ...dependsField(depends), ust, token });
      },
    };
  }
}

const valueIn = (version: Version | null, encoder: FrameEncoder<unknown>) =>
  version === null || version.value === null ? null : ([version.ts, encoder.value(version.value)] as const);

const dependsField = (depends: GetResp['depends']): Pick<WireSeen, 'depends'> =>
  depends === undefined ? {} : { depends: depends as readonly WireDependency[] };

function get(frame: Request<'get'>, id: number, context: ConnectedOperations, reply: Reply): void {
  const { node, parts } = context;
  const session = context.sessionOf(frame);
  const asked = session.get(node.rules.qualified(frame.key));
  parts.coordinator.ask(
    asked,
    answered(reply, (answer) => context.got(id, session, answer, [answer.version])),
  );
}

function rot(frame: Request<'rot'>, id: number, context: ConnectedOperations, reply: Reply): void {
  const { node, parts } = context;
  requireCapability(node.protocol, 'rot', '"rot"');
  const session = context.sessionOf(frame);
  const { id: named, ...asked } = session.rot(keysOf(frame.keys, node.rules));
  // A given id is its session's, which is the client's.
  const own = named === undefined ? {} : { id: requiredTx(frame.tx) };
  parts.coordinator.ask(
    { ...asked, ...own },
    answered(reply, (answer) => context.got(id, session, answer, answer.versions)),
  );
}

function put(frame: Request<'put'>, id: number, context: ConnectedOperations, reply: Reply): void {
  const { node, parts, principal } = context;
  const session = context.sessionOf(frame);
  const write = session.put(node.rules.qualified(frame.key), plainOf(frame.value, node.rules), principal.id, frame.tx);
  const { sentAfter } = frame;
  const attemptRegions = attemptRegionsOf(frame.attemptRegions, (name) => node.topology.regions.includes(name));
  parts.coordinator.ask(
    { ...write, sentAfter, attemptRegions },
    answered(reply, (answer) => {
      const { ts, seen, region, ust, depends } = answer;
      const token = context.tokenAfter(session, answer);
      return { type: 'written', id, ts, seen, region, ...dependsField(depends), ust, token };
    }),
  );
}

const OPERATION_REQUESTS: Handlers<ConnectedOperations> = {
  get: checked(FRAMES.get, get),
  rot: checked(FRAMES.rot, rot),
  put: checked(FRAMES.put, put),
  start: refuse('transactions'),
  read: refuse('transactions'),
  list: refuse('list'),
  commit: refuse('transactions'),
  settle: refuse('write-counters'),
  origin: refuse('updates'),
  changes: refuse('changes'),
  live: refuse('live-queries'),
  abort: refuse('transactions'),
  status: refuse('transactions'),
  ...COMMON_REQUESTS,
};
