/**
 * A scripted node for tests of the machine: it answers session frames from a map. Several nodes may share one store.
 */

import type { SocketId } from '@isochron/client/effects';
import { wallOf } from '@isochron/core/hlc';
import type { Origin, Timestamp, TxId } from '@isochron/core/ids';
import { Fold } from '@isochron/core/updates/fold';
import { Update } from '@isochron/core/updates/update';
import type {
  ClientFrame,
  CommitFrame,
  OriginFrame,
  ReadFrame,
  ServerFrame,
  StartFrame,
  WelcomeFrame,
  WireContent,
  WireUpdate,
  WireValue,
} from '@isochron/wire/session-frames';

export const ALL = ['transactions', 'list', 'stable', 'snapshots', 'read-past', 'stable-snapshots'];

/** The shared state of one cluster's scripted nodes. Each write is stable at once. */
export class ScriptedStore {
  readonly #values = new Map<string, { readonly ts: Timestamp; readonly value: WireValue | null; origin?: Origin }>();
  /** Commit timestamps by transaction. */
  readonly outcomes = new Map<TxId, Timestamp>();
  clock: Timestamp = 1000;
  ust: Timestamp = 1000;

  commit({ tx, hwt, sentAfter, writes }: Pick<CommitFrame, 'tx' | 'hwt' | 'sentAfter' | 'writes'>): Timestamp {
    const known = this.outcomes.get(tx);
    if (known !== undefined) return known;
    this.clock = Math.max(this.clock, hwt, sentAfter) + 1;
    for (const { key, value } of writes) this.#write(key, value, { ts: this.clock, txId: tx });
    this.outcomes.set(tx, this.clock);
    this.ust = this.clock;
    return this.clock;
  }

  read(key: string): readonly [Timestamp, WireValue] | null {
    const version = this.#values.get(key);
    return version === undefined || version.value === null ? null : [version.ts, version.value];
  }

  /** The version that made the document of a key. */
  originOf(key: string): readonly [Timestamp, TxId] | null {
    const { origin } = this.#values.get(key) ?? {};
    return origin === undefined ? null : [origin.ts, origin.txId];
  }

  #write(key: string, content: WireContent, version: Origin): void {
    const { ts } = version;
    if (!isUpdate(content)) {
      this.#values.set(key, { ts, value: content, ...(content === null ? {} : { origin: version }) });
      return;
    }
    const { value = null, origin } = this.#values.get(key) ?? {};
    const fold = new Fold(typeof value === 'string' ? value : null, origin);
    fold.apply(new Update(content.operations), version);
    this.#values.set(key, { ts, value: fold.result(), ...(fold.origin === undefined ? {} : { origin: fold.origin }) });
  }
}

const isUpdate = (content: WireContent): content is WireUpdate =>
  typeof content === 'object' && content !== null && 'operations' in content;

/**
 * A script's reaction to a frame: an answer of its own, none at all, the end of the connection; undefined: the usual
 * answer.
 */
export type Scripted = undefined | 'drop' | 'close' | 'apply-and-drop' | 'apply-and-close' | ServerFrame;

export class ScriptedNode {
  /** Every frame that came in, and how many came in each message. */
  readonly frames: ClientFrame[] = [];
  readonly packing: number[] = [];
  /** Runs before a frame is answered; `reply` answers it later. */
  script: (frame: ClientFrame, reply: (answer: object) => void, socket: SocketId) => Scripted = () => undefined;
  /** The refusal of a frame for its rate: before the node looks at what it asks for. */
  limits: (frame: ClientFrame) => ServerFrame | undefined = () => undefined;
  /** One-way delay of a message. */
  delayMs = 1;
  /** `refuses`: no socket opens. `silent`: a socket neither opens nor fails. */
  state: 'serves' | 'refuses' | 'silent' = 'serves';
  credits = 16;
  regions: WelcomeFrame['regions'] = [];
  capabilities: readonly string[] = ALL;
  /** Token of its welcomes and commits. */
  readonly token: string;
  readonly #open = new Map<TxId, Timestamp>();

  constructor(
    readonly name: string,
    readonly store: ScriptedStore,
    readonly region = name,
  ) {
    this.token = `${name}-0`;
  }

  get url(): string {
    return `ws://${this.name}`;
  }

  received<T extends ClientFrame['type']>(type: T): Extract<ClientFrame, { type: T }>[] {
    return this.frames.filter((frame): frame is Extract<ClientFrame, { type: T }> => frame.type === type);
  }

  /** The usual answer. */
  answer(frame: ClientFrame): ServerFrame {
    switch (frame.type) {
      case 'hello':
        return this.welcome();
      case 'read':
        return this.#read(frame);
      case 'start':
        return this.#start(frame);
      case 'commit':
        this.#open.delete(frame.tx);
        return { type: 'committed', id: frame.id, ts: this.store.commit(frame), token: this.token };
      case 'abort':
        this.#open.delete(frame.tx);
        return { type: 'aborted', id: frame.id };
      case 'ping':
        return { type: 'pong', id: frame.id, ...(frame.token === undefined ? {} : { token: `${frame.token}+` }) };
      case 'stable':
        return this.store.ust >= frame.ts
          ? { type: 'stable', id: frame.id, ust: this.store.ust }
          : refusal(frame.id, 'STABLE_TIMEOUT', true);
      case 'origin':
        return this.#origin(frame);
      case 'status': {
        const ts = this.store.outcomes.get(frame.tx) ?? null;
        return { type: 'status', id: frame.id, status: ts === null ? 'unknown' : 'committed', ts };
      }
      default:
        return refusal(frame.id, 'FRAME_TYPE_UNKNOWN', false);
    }
  }

  welcome(): WelcomeFrame {
    const { ust } = this.store;
    return {
      type: 'welcome',
      region: this.region,
      node: `${this.name}-1`,
      cluster: 'test',
      protocol: 'paris',
      capabilities: this.capabilities,
      ust,
      hwt: 0,
      freshness: { now: Math.ceil(wallOf(ust)), stalenessMs: 0, stale: false, heldBackBy: null },
      token: this.token,
      credits: this.credits,
      limits: { maxKeyBytes: 1024, maxValueBytes: 65_536, maxKeysPerRequest: 100, maxRequestBytes: 1_000_000 },
      maxTransactionMs: 30_000,
      stalenessAlertMs: 10_000,
      regions: this.regions,
    };
  }

  #start({ id, tx, at = this.store.ust }: StartFrame): ServerFrame {
    this.#open.set(tx, at);
    return { type: 'started', id, snapshot: at };
  }

  #origin({ id, key }: OriginFrame): ServerFrame {
    return { type: 'origin', id, value: this.store.read(key), origin: this.store.originOf(key) };
  }

  /** Values are the newest ones: these tests do not check the contents of snapshots. */
  #read({ id, tx, at = this.store.ust, keys }: ReadFrame): ServerFrame {
    const snapshot = tx === undefined ? at : this.#open.get(tx);
    if (snapshot === undefined) return refusal(id, 'TRANSACTION_UNKNOWN', false);
    return { type: 'values', id, snapshot, values: keys.map((key) => this.store.read(key)) };
  }
}

/** An error frame. */
export const refusal = (id: number | undefined, code: string, retryable: boolean): ServerFrame => ({
  type: 'error',
  ...(id === undefined ? {} : { id }),
  code,
  detail: `scripted ${code}`,
  retryable,
});
