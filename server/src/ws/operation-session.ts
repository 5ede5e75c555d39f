/**
 * A connection's session under protocols of single operations. The client keeps it, and says with every request what it has seen; this side signs what
 * comes of it.
 */
import type { Timestamp, Version } from '@isochron/core';
import type { GetResp, OperationSession, PutResp, RotResp } from '@isochron/protocols';
import { answerBytes, type OperationTokens, requireCapability } from '@isochron/sessions';
import {
  homesField,
  keyField,
  keysField,
  type RawFrame,
  seenOf,
  timestampField,
  txIdField,
  valueField,
} from '@isochron/sessions/served/frames';
import type { AnswerFrame, WireDependency, WireSeen } from '@isochron/wire/session-frames';
import type { ApiContext } from '../http/context.js';
import type { OperationsNode } from '../node/api.js';
import type { Codec } from './codec.js';
import { COMMON_REQUESTS, type Handlers, handlerOf, refuse } from './requests.js';
import type { Answer, RequestContext, Serve, ServedSession } from './served-session.js';

export class ConnectedOperations implements ServedSession, RequestContext {
  told: Timestamp = 0;
  principal = '';
  #token = '';
  #seen: WireSeen | undefined;

  constructor(
    readonly api: ApiContext,
    readonly node: OperationsNode,
    readonly tokens: OperationTokens,
    readonly codec: Codec,
  ) {}

  begin(principal: string, token: string | undefined): void {
    this.principal = principal;
    const { node } = this;
    const state = token === undefined ? undefined : this.tokens.decode(token, node.now());
    const session = node.protocol.session('', node.region, state);
    session.observe(node.ust());
    this.told = session.ust;
    this.#token = this.tokens.mint(session.export());
    const { seen, region, depends } = session.export();
    this.#seen = state === undefined ? undefined : { seen, region, ...dependsField(depends) };
  }

  greeting(): ReturnType<ServedSession['greeting']> {
    const { told, node } = this;
    return {
      ust: told,
      stable: node.ust(),
      ...(this.#seen === undefined ? {} : { seen: this.#seen }),
      hwt: 0,
      token: this.#token,
    };
  }

  serves(type: unknown): Serve | undefined {
    const handler = handlerOf<ConnectedOperations>(OPERATION_REQUESTS, type);
    return handler === undefined ? undefined : (frame, id) => handler(frame, id, this);
  }

  sawStable(ust: Timestamp): undefined {
    if (ust > this.told) this.told = ust;
  }

  /** The client keeps its session itself. */
  learn(token: string): undefined {
    this.tokens.decode(token, this.node.now());
  }

  /** The session that a request is of. */
  sessionOf(frame: RawFrame): OperationSession {
    return this.node.protocol.session('', this.node.region, { ...seenOf(frame, this.api.rules), ust: 0 });
  }

  tokenAfter(session: OperationSession, answer: GetResp | RotResp | PutResp): string {
    session.answered(answer);
    return this.tokens.mint(session.export());
  }

  /** The answer to a read, with all that its session has to know. */
  got(id: number, session: OperationSession, answer: GetResp | RotResp, versions: readonly (Version | null)[]): Answer {
    const { seen, ust, depends } = answer;
    const bytes = answerBytes(versions, this.api.rules.maxAnswerBytes);
    const token = this.tokenAfter(session, answer);
    const frame = (): AnswerFrame => {
      const values = versions.map(this.#valueOf);
      return { type: 'got', id, values, seen, ...dependsField(depends), ust, token };
    };
    return { bytes, encode: () => this.codec.frame(frame()) };
  }

  readonly #valueOf = (version: Version | null) =>
    version === null || version.value === null ? null : ([version.ts, this.codec.value(version.value)] as const);
}

const dependsField = (depends: GetResp['depends']): Pick<WireSeen, 'depends'> =>
  depends === undefined ? {} : { depends: depends as readonly WireDependency[] };

async function get(frame: RawFrame, id: number, context: ConnectedOperations): Promise<Answer> {
  const session = context.sessionOf(frame);
  const answer = await context.node.coordinator.get(session.get(keyField(frame, context.api.rules)));
  return context.got(id, session, answer, [answer.version]);
}

async function rot(frame: RawFrame, id: number, context: ConnectedOperations): Promise<Answer> {
  requireCapability(context.node.protocol, 'rot', '"rot"');
  const session = context.sessionOf(frame);
  const { id: named, ...asked } = session.rot(keysField(frame, context.api.rules));
  // Where it has an id, that is its session's, which is the client's.
  const own = named === undefined ? {} : { id: txIdField(frame) };
  const answer = await context.node.coordinator.rot({ ...asked, ...own });
  return context.got(id, session, answer, answer.versions);
}

async function put(frame: RawFrame, id: number, context: ConnectedOperations): Promise<Answer> {
  const { node, api, principal } = context;
  const session = context.sessionOf(frame);
  const write = session.put(keyField(frame, api.rules), valueField(frame, api.rules), principal, txIdField(frame));
  const birth = timestampField(frame, 'birth');
  const homes = homesField(frame, (name) => node.topology.regions.includes(name));
  const answer = await node.coordinator.put({ ...write, birth, homes });
  const { ts, seen, region, ust, depends } = answer;
  const token = context.tokenAfter(session, answer);
  return { type: 'written', id, ts, seen, region, ...dependsField(depends), ust, token };
}

const OPERATION_REQUESTS: Handlers<ConnectedOperations> = {
  get,
  rot,
  put,
  start: refuse('transactions'),
  read: refuse('transactions'),
  list: refuse('list'),
  commit: refuse('transactions'),
  abort: refuse('transactions'),
  status: refuse('transactions'),
  ...COMMON_REQUESTS,
};
