/** A client of a protocol of single operations: it does one at a time, as the papers' clients do. */
import { IsochronError } from '@isochron/core/errors';
import type { QualifiedKey, Timestamp, Value } from '@isochron/core/ids';
import {
  highest,
  OperationSession,
  type OperationSessionRules,
  type OperationSessionState,
} from '@isochron/protocols/kernel/operations/session';
import type { PutFrame, RequestFrame, WireSeen } from '@isochron/wire/session-frames';
import { randomSessionId } from '../encoding.js';
import { malformed } from '../errors.js';
import type { Connection } from '../transport/connection.js';
import { Exchange, unexpected } from '../transport/exchange.js';
import type { Answer, Welcome } from '../transport/frames.js';
import { got, wireSeen, written } from '../transport/operation-frames.js';
import type { SessionCore } from './core.js';
import type { Engine, OpenEngine } from './engine.js';
import { type ExportedState, type ImportedSession, invalidSession } from './exported.js';
import { type Committed, OutcomeExchange } from './outcome.js';

/** What goes with every request: what the session has seen, and where. */
function seenOf(session: OperationSession): WireSeen {
  const { seen, region, depends } = session.export();
  return { seen, region, ...(depends === undefined ? {} : { depends: depends as NonNullable<WireSeen['depends']> }) };
}

/** A GET, or a read-only transaction. It is made anew for each sending: the session may have moved. */
class ReadExchange extends Exchange<readonly (Value | null)[]> {
  constructor(
    readonly session: OperationSession,
    readonly keys: readonly QualifiedKey[],
    readonly ended: () => void,
  ) {
    super();
  }

  frame(id: number, { region }: Connection): RequestFrame {
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
    const { seen, ust, depends, values } = got(frame.raw);
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
  protected readonly attempt: ReturnType<OperationSession['put']>;
  readonly #seen: WireSeen;

  constructor(
    core: SessionCore,
    readonly session: OperationSession,
    key: QualifiedKey,
    value: Value | null,
    ended: () => void,
  ) {
    super(core, ended);
    this.attempt = session.put(key, value);
    this.#seen = seenOf(session);
  }

  frame(id: number, connection: Connection): PutFrame {
    const { txId: tx, key, value, birth } = this.attempt;
    this.session.move(connection.region);
    const homes = this.sending(connection).map(({ home }) => home);
    const wireValue = value === null ? null : connection.codec.value(value);
    return { type: 'put', id, tx, key, value: wireValue, birth, homes, ...this.#seen };
  }

  answered(frame: Answer): void {
    if (frame.type !== 'written') throw unexpected(frame);
    const { ts, seen, region, ust, depends } = written(frame.raw);
    this.session.answered({ type: 'PutResp', ref: 0, txId: this.txId, ts, seen, region, ust, depends });
    this.committed(ts);
  }

  protected gaveUp(): void {
    this.session.refused();
  }
}

class Operations implements Engine {
  readonly session = undefined;
  readonly #core: SessionCore;
  #session: OperationSession;

  constructor(
    core: SessionCore,
    session: OperationSession,
    readonly rules: OperationSessionRules,
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

  async read(keys: readonly QualifiedKey[], signal: AbortSignal | undefined): Promise<readonly (Value | null)[]> {
    if (keys.length > 1 && !this.#core.can('rot')) {
      const message = `the protocol of this cluster, ${this.#core.protocol}, reads one key at a time: get each of them`;
      throw new IsochronError('NOT_SUPPORTED_BY_PROTOCOL', message);
    }
    const begin = (ended: () => void) => new ReadExchange(this.#session, keys, ended);
    return this.#core.queue.enqueue({ writes: false, begin }, signal);
  }

  write(key: QualifiedKey, value: Value | null, signal: AbortSignal | undefined): Promise<Committed> {
    const begin = (ended: () => void) => new PutExchange(this.#core, this.#session, key, value, ended);
    return this.#core.queue.enqueue({ writes: true, begin }, signal);
  }

  /** The write under way has its own hold of the old session. */
  detach(): void {
    const region = this.#core.connector.current?.region ?? this.#session.export().region;
    this.#session = new OperationSession(randomSessionId(), region, this.rules, this.#session.export());
  }

  export(): ExportedState {
    return { ust: this.ust, hwt: 0, writes: [], seen: seenOf(this.#session) };
  }
}

/** @param rules how the protocol's sessions remember */
export const openOperations =
  (rules: OperationSessionRules = highest): OpenEngine =>
  (core, welcome, imported) => {
    const { region, stable = 0 } = welcome;
    const seen = imported === undefined ? welcomedSeen(welcome) : importedSeen(imported);
    const state: OperationSessionState | undefined = seen && {
      ...seen,
      ust: Math.max(stable, imported?.state.ust ?? 0),
    };
    return new Operations(core, new OperationSession(randomSessionId(), region, rules, state), rules);
  };

const welcomedSeen = ({ seen }: Welcome): WireSeen | undefined => (seen === undefined ? undefined : wireSeen(seen));

/** It may name a protocol that it cannot be of. */
function importedSeen({ seen }: ImportedSession): WireSeen {
  try {
    return wireSeen(seen);
  } catch (cause) {
    throw invalidSession('what it has seen is damaged, or not in it', cause);
  }
}
