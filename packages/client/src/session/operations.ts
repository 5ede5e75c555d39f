/**
 * A client of a protocol of single operations: it does one at a time, as the papers' clients do. It takes the shared
 * code from the core's kit, and imports none of it, so that bundlers keep this file and the core's apart.
 */
import type { Content, QualifiedKey, RegionId, Timestamp, Value } from '@isochron/core/ids';
import {
  highest,
  OperationSession,
  type OperationSessionRules,
  type OperationSessionState,
} from '@isochron/protocols/kernel/operations/session';
import type { PutFrame, RequestFrame, WireSeen } from '@isochron/wire/session-frames';
import type { Caller, Cancellable, Carrier } from '../link/exchange.js';
import type { Answer, Welcome } from '../link/frames.js';
import { operationFrames } from '../link/operation-frames.js';
import type { Engine, OpenEngine } from './engine.js';
import type { ExportedState, ImportedSession } from './exported.js';
import type { ClientKit } from './kit.js';
import type { Committed } from './outcome.js';
import type { ClientParts } from './parts.js';

/** The session's state, and the region where it was seen: part of every request. */
function seenOf(session: OperationSession): WireSeen {
  const { seen, region, depends } = session.export();
  return { seen, region, ...(depends === undefined ? {} : { depends: depends as NonNullable<WireSeen['depends']> }) };
}

/** The requests of such a client. */
function requestsOf({ Exchange, OutcomeExchange, unexpected, malformed, parts, notation }: ClientKit) {
  const frames = operationFrames(parts, notation);

  /** A GET, or a read-only transaction. It is made anew for each sending: the session may have moved. */
  class ReadExchange extends Exchange<readonly (Value | null)[]> {
    constructor(
      readonly session: OperationSession,
      readonly keys: readonly QualifiedKey[],
      readonly ended: () => void,
    ) {
      super();
    }

    /** Its token has the session's state at its sending: a late one lacks the newer state. */
    override get takesToken(): boolean {
      return !this.settled;
    }

    frame(id: number, { region }: Carrier): RequestFrame {
      const { session, keys } = this;
      session.refused();
      session.move(region);
      const seen = seenOf(session);
      if (keys.length === 1) return { type: 'get', id, key: session.get(keys[0]!).key, ...seen };
      const { id: tx } = session.rot(keys);
      return { type: 'rot', id, keys, ...(tx === undefined ? {} : { tx }), ...seen };
    }

    answered(frame: Answer): void {
      if (frame.type !== 'got') throw unexpected(frame);
      const { seen, ust, depends, values } = frames.got(frame.raw);
      if (values.length !== this.keys.length) throw malformed('another number of values than keys were asked for');
      this.session.answered({ type: 'RotResp', ref: 0, versions: [], seen, ust, depends });
      this.done(values.map((version) => version?.[1] ?? null));
      this.ended();
    }

    override failed(reason: unknown): void {
      if (this.settled) return;
      super.failed(reason);
      this.session.refused();
      this.ended();
    }
  }

  class PutExchange extends OutcomeExchange {
    readonly attempt: ReturnType<OperationSession['put']>;
    readonly #seen: WireSeen;

    constructor(
      core: ClientParts,
      readonly session: OperationSession,
      key: QualifiedKey,
      value: Value | null,
      ended: () => void,
    ) {
      super(core, ended);
      this.attempt = session.put(key, value);
      this.#seen = seenOf(session);
    }

    /** A write that the session has left answers with the token of the old session. */
    override get takesToken(): boolean {
      return !this.is('detached');
    }

    frame(id: number, connection: Carrier): PutFrame {
      const { txId: tx, key, value, sentAfter } = this.attempt;
      this.session.move(connection.region);
      const attemptRegions = this.sending(connection).map(({ home }) => home);
      const wireValue = value === null ? null : connection.codec.value(value);
      return { type: 'put', id, tx, key, value: wireValue, sentAfter, attemptRegions, ...this.#seen };
    }

    /** The session's dependencies are known to be in its home and in the region where they were seen, nowhere else. */
    protected override mustMove(home: RegionId, { region }: Carrier): boolean {
      return home !== region && home !== this.#seen.region;
    }

    answered(frame: Answer): void {
      if (frame.type !== 'written') throw unexpected(frame);
      const { ts, seen, region, ust, depends } = frames.written(frame.raw);
      this.session.answered({ type: 'PutResp', ref: 0, txId: this.txId, ts, seen, region, ust, depends });
      this.committed(ts);
    }

    protected gaveUp(): void {
      this.session.refused();
    }
  }

  return { ReadExchange, PutExchange, wireSeen: frames.wireSeen };
}

class Operations implements Engine {
  readonly session = undefined;
  readonly #core: ClientParts;
  #session: OperationSession;

  constructor(
    core: ClientParts,
    session: OperationSession,
    readonly rules: OperationSessionRules,
    readonly requests: Pick<ReturnType<typeof requestsOf>, 'ReadExchange' | 'PutExchange'>,
  ) {
    this.#core = core;
    this.#session = session;
  }

  get ust(): Timestamp {
    return this.#session.ust;
  }

  welcomed({ stable }: Welcome): void {
    this.stable(stable ?? 0);
  }

  stable(ust: Timestamp): void {
    this.#session.observe(ust);
  }

  read(keys: readonly QualifiedKey[], caller: Caller<readonly (Value | null)[]>): Cancellable | undefined {
    if (keys.length > 1 && !this.#core.can('rot')) {
      caller.reject(this.#core.unsupported('reads one key at a time: get each of them'));
      return undefined;
    }
    const begin = (ended: () => void) => new this.requests.ReadExchange(this.#session, keys, ended);
    return this.#core.queue.enqueue(undefined, begin, caller);
  }

  write(key: QualifiedKey, value: Content, caller: Caller<Committed>): Cancellable | undefined {
    if (value !== null && typeof value === 'object' && 'operations' in value)
      throw this.#core.unsupported('has no updates');
    const begin = (ended: () => void) => new this.requests.PutExchange(this.#core, this.#session, key, value, ended);
    return this.#core.queue.enqueue([{ key, value }], begin, caller);
  }

  /** The write under way keeps the old session. */
  detach(): void {
    const region = this.#core.connector.current?.region ?? this.#session.export().region;
    this.#session = new OperationSession(this.#core.settings.newId(), region, this.rules, this.#session.export());
  }

  export(): ExportedState {
    return { ust: this.ust, hwt: 0, writes: [], seen: seenOf(this.#session) };
  }
}

/** @param rules how the protocol's sessions remember */
export const openOperations =
  (rules: OperationSessionRules = highest): OpenEngine =>
  (core, kit, welcome, imported) => {
    const requests = requestsOf(kit);
    const { region, stable = 0 } = welcome;
    const state = stateOf(kit, requests.wireSeen, welcome, imported);
    const known = state && { ...state, ust: Math.max(stable, imported?.state.ust ?? 0) };
    const session = new OperationSession(core.settings.newId(), region, rules, known);
    return new Operations(core, session, rules, requests);
  };

/** The session's state: as exported, possibly by a protocol that does not fit, or from its token. */
function stateOf(
  { invalidSession }: ClientKit,
  wireSeen: (raw: unknown) => WireSeen,
  welcome: Welcome,
  imported: ImportedSession | undefined,
): Omit<OperationSessionState, 'ust'> | undefined {
  if (imported === undefined) return welcome.seen === undefined ? undefined : wireSeen(welcome.seen);
  try {
    return wireSeen(imported.seen);
  } catch (cause) {
    throw invalidSession('what it has seen is damaged, or not in it', cause);
  }
}
