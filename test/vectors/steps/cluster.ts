/**
 * A small cluster as its clients see it: nodes that answer frames. It keeps the state that it must, and draws the rest.
 */
import type { Random } from '@isochron/core';
import type { ErrorCode } from '@isochron/core/error-codes';
import { wallOf } from '@isochron/core/hlc';
import type { Timestamp } from '@isochron/core/ids';
import { ERROR_CODES } from '@isochron/core/retryable-codes';
import { compareKeys } from '@isochron/core/versions';
import type { OperationName, TransactionName } from '@isochron/protocols';
import type { Snapshot } from '@isochron/protocols/kernel/transactions/snapshots';
import type {
  ClientFrame,
  CommitFrame,
  Freshness,
  HelloFrame,
  ListFrame,
  RequestFrame,
  ServerFrame,
  Unresponsive,
  WelcomeFrame,
  WireContent,
  WireSeen,
  WireUpdate,
  WireValue,
} from '@isochron/wire/session-frames';
import { drawKey, drawValue, REGIONS, Times } from '../drawing.js';
import { OperationWorld, type Seen } from '../operations/world.js';
import { valueOut } from '../outward.js';
import { World } from '../transactions/world.js';
import type { StepProtocol } from './protocols.js';
import { Suspensions } from './suspensions.js';

/** A node, as its clients reach it. */
export interface FakeNode {
  readonly name: string;
  readonly region: string;
  readonly base: string;
  /** One way, ms. */
  readonly delayMs: number;
  /** Until then it is down or silent. */
  downUntilMs: number;
  silentUntilMs: number;
}

/** Transactions that are open on one connection. */
export type OpenTransactions = Map<string, Snapshot>;

const isUpdate = (content: WireContent): content is WireUpdate =>
  typeof content === 'object' && content !== null && 'operations' in content;

type Outcome = ServerFrame & { readonly type: 'committed' | 'written' };

export const refusalFrame = (id: number | undefined, code: ErrorCode): ServerFrame => ({
  type: 'error',
  ...(id === undefined ? {} : { id }),
  code,
  detail: code.toLowerCase(),
  retryable: ERROR_CODES[code],
});

export class Cluster {
  readonly nodes: readonly FakeNode[];
  readonly times: Times;
  readonly #random: Random;
  readonly #protocol: StepProtocol;
  readonly #world: World;
  readonly #operations: OperationWorld;
  /** Undefined in a cluster that suspends no nodes. */
  readonly suspensions: Suspensions | undefined;
  readonly #outcomes = new Map<string, Outcome>();
  readonly #stored = new Map<string, readonly [Timestamp, WireValue]>();
  readonly #credits: number;
  #reports = 0;
  readonly #maxRequestBytes: number;
  #seen: Timestamp = 0;
  #tokens = 0;

  constructor(protocol: StepProtocol, random: Random, suspends = false) {
    this.#protocol = protocol;
    this.#random = random;
    this.times = new Times(random);
    this.suspensions = suspends ? new Suspensions(random, this.times) : undefined;
    // Each protocol uses only one of them.
    this.#world = new World(protocol.name as TransactionName, random, this.times);
    this.#operations = new OperationWorld(protocol.name as OperationName, random, this.times);
    this.#credits = random.pick([1, 1, 2, 4, 16, 16]);
    this.#maxRequestBytes = random.pick([1_000_000, 1_000_000, 1_000_000, 900]);
    const count = random.pick([1, 2, 3, 3, 4, 6]);
    this.nodes = Array.from({ length: count }, (_, i) => {
      const region = REGIONS[i % REGIONS.length]!;
      const delayMs = random.pick([0.5, 2, 10, 40, 120]);
      return { name: `n${i}`, region, base: `http://n${i}.test`, delayMs, downUntilMs: 0, silentUntilMs: 0 };
    });
  }

  /** The state of a session that was elsewhere before. */
  get world(): World {
    return this.#world;
  }

  get operations(): OperationWorld {
    return this.#operations;
  }

  welcome(node: FakeNode, { token }: HelloFrame, unresponsive: Unresponsive | undefined): WelcomeFrame {
    const { kind, name, capabilities } = this.#protocol;
    const { ts: ust, deps } = kind === 'transactions' ? this.#world.sent() : { ts: 0, deps: undefined };
    const seen = kind === 'operations' && token !== undefined && this.#random.chance(0.6);
    return {
      type: 'welcome',
      region: node.region,
      node: node.name,
      cluster: this.#random.chance(0.005) ? 'another' : 'cluster',
      protocol: name,
      capabilities,
      ust,
      ...(deps === undefined ? {} : { deps }),
      ...(name === 'paris' ? {} : { stable: this.#world.stable() }),
      ...(seen ? { seen: { ...seenOf(this.#operations.read()), region: node.region } } : {}),
      hwt: token !== undefined && this.#random.chance(0.7) ? this.times.recent() : 0,
      freshness: this.freshness(),
      ...(unresponsive === undefined ? {} : { unresponsive }),
      ...(this.suspensions?.welcome() ?? this.#mapField()),
      token: this.#token(),
      credits: this.#credits,
      limits: {
        maxKeyBytes: 1024,
        maxValueBytes: 100_000,
        maxKeysPerRequest: 100,
        maxRequestBytes: this.#maxRequestBytes,
      },
      maxTransactionMs: 60_000,
      ...(name === 'paris' ? { stalenessAlertMs: 6000 } : {}),
      regions: REGIONS.map((id) => ({
        id,
        endpoints: this.nodes.filter((other) => other.region === id).map(({ base }) => base),
      })),
    };
  }

  freshness(): Freshness {
    const stale = this.#random.chance(0.2);
    const region = this.#random.pick(REGIONS);
    const heldBack = { region, node: this.#random.chance(0.5) ? 'n0' : null, partition: null };
    return {
      now: Math.floor(wallOf(this.times.now)) + this.#random.below(50),
      stalenessMs: this.#random.pick([0, 20, 300, 5000]),
      stale,
      heldBackBy: stale && this.#random.chance(0.7) ? heldBack : null,
    };
  }

  ust(unresponsive: Unresponsive | undefined): ServerFrame {
    const ust = this.#world.stable();
    return {
      type: 'ust',
      ust,
      freshness: this.freshness(),
      ...(unresponsive === undefined ? {} : { unresponsive }),
      ...(this.suspensions?.report() ?? this.#mapField()),
    };
  }

  /** The version of the map of a node. Nodes adopt a map every 25 reports: that leaves the other draws as they are. */
  #mapField(): { readonly map?: number } {
    const map = Math.floor(this.#reports++ / 25);
    return map === 0 ? {} : { map };
  }

  /** The answer of a node to a request, or its refusal. */
  answer(node: FakeNode, frame: RequestFrame, open: OpenTransactions): ServerFrame {
    const answer = this.#answer(node, frame, open);
    const mayCarry = answer.type !== 'error' && this.#random.chance(0.15);
    return mayCarry ? ({ ...answer, token: this.#token() } as ServerFrame) : answer;
  }

  #answer(node: FakeNode, frame: RequestFrame, open: OpenTransactions): ServerFrame {
    const { id } = frame;
    switch (frame.type) {
      case 'ping':
        return { type: 'pong', id };
      case 'abort':
        open.delete(frame.tx);
        return { type: 'aborted', id };
      case 'start': {
        const snapshot = this.#snapshot(frame.at, frame.deps);
        open.set(frame.tx, snapshot);
        return { type: 'started', id, ...fieldsOf(snapshot) };
      }
      case 'read': {
        const snapshot = this.#snapshotOf(frame, open);
        if (snapshot === undefined) return refusalFrame(id, 'TRANSACTION_UNKNOWN');
        return { type: 'values', id, ...fieldsOf(snapshot), values: this.#valuesOf(frame.keys) };
      }
      case 'list': {
        const snapshot = this.#snapshotOf(frame, open);
        if (snapshot === undefined) return refusalFrame(id, 'TRANSACTION_UNKNOWN');
        return { type: 'listed', id, ...fieldsOf(snapshot), ...this.#page(frame) };
      }
      case 'commit': {
        if (frame.snapshot === undefined && !open.has(frame.tx)) return refusalFrame(id, 'TRANSACTION_UNKNOWN');
        open.delete(frame.tx);
        return { ...this.#committed(frame), id };
      }
      case 'origin':
        return { type: 'origin', id, value: null, origin: null };
      case 'get':
        return this.#got(id, [frame.key]);
      case 'rot':
        return this.#got(id, frame.keys);
      case 'put':
        return { ...this.#written(node, frame.tx, frame), id };
      case 'status':
        return this.#status(id, frame.tx);
      case 'stable': {
        if (this.#random.chance(0.3)) return refusalFrame(id, 'STABLE_TIMEOUT');
        const early = this.#random.chance(0.03) && frame.ts > 0;
        return { type: 'stable', id, ust: early ? frame.ts - 1 : Math.max(frame.ts, this.times.lagging()) };
      }
      // The clients of the traces follow no changes, and the network answers new credentials.
      case 'authenticate':
      case 'changes':
      case 'live':
      case 'settle':
        return refusalFrame(id, 'FRAME_TYPE_UNKNOWN');
    }
  }

  /** A write, whether answered or not. A repeated write has its first outcome, unless it is committed again. */
  #committed({ tx: txId, writes, maps }: CommitFrame): Outcome {
    const known = this.#outcomes.get(txId);
    const map = maps?.at(-1);
    return known === undefined || this.#isAgain(known, map) ? this.#commit(txId, writes, map) : known;
  }

  #isAgain(known: Outcome, map: number | undefined): boolean {
    return known.type === 'committed' && this.suspensions?.isAgain(known, map) === true;
  }

  #commit(txId: string, writes: CommitFrame['writes'], map: number | undefined): Outcome {
    const { ts, deps } = this.#world.committed();
    const place = this.suspensions?.place(map);
    const outcome: Outcome = { type: 'committed', id: 0, ...(deps === undefined ? {} : { deps }), ts, ...place };
    this.#outcomes.set(txId, outcome);
    // The protocols of the traces have no updates.
    for (const { key, value } of writes) if (!isUpdate(value)) this.#store(key, ts, value);
    return outcome;
  }

  #written(node: FakeNode, txId: string, put: { readonly key: string; readonly value: WireValue | null }): Outcome {
    const known = this.#outcomes.get(txId);
    if (known !== undefined) return known;
    const ts = this.times.next();
    const ust = this.times.lagging();
    const seen = seenOf(this.#operations.wrote());
    const outcome: Outcome = { type: 'written', id: 0, ts, ust, region: node.region, ...seen };
    this.#outcomes.set(txId, outcome);
    this.#store(put.key, ts, put.value);
    return outcome;
  }

  #store(key: string, ts: Timestamp, value: WireValue | null): void {
    if (value === null) this.#stored.delete(key);
    else this.#stored.set(key, [ts, value]);
  }

  #got(id: number, keys: readonly string[]): ServerFrame {
    return {
      type: 'got',
      id,
      values: this.#valuesOf(keys),
      ust: this.times.lagging(),
      ...seenOf(this.#operations.read()),
    };
  }

  /** The stored values; for a key without one, sometimes another session's write. */
  #valuesOf(keys: readonly string[]): (readonly [Timestamp, WireValue] | null)[] {
    return keys.map((key) => {
      if (!this.#stored.has(key) && this.#random.chance(0.3)) this.#store(key, this.times.recent(), this.#drawn());
      return this.#stored.get(key) ?? null;
    });
  }

  #drawn(): WireValue | null {
    return valueOut(drawValue(this.#random));
  }

  #page({ keyspace, prefix = '', start = '', limit = 100 }: ListFrame) {
    if (this.#random.chance(0.5)) this.#store(drawKey(this.#random), this.times.recent(), this.#drawn());
    const listed = [...this.#stored]
      .filter(([key]) => key.startsWith(`${keyspace}/`))
      .map(([key, [ts, value]]) => [key.slice(keyspace.length + 1), ts, value] as const)
      .filter(([key]) => key.startsWith(prefix) && compareKeys(key, start) >= 0)
      .sort(([a], [b]) => compareKeys(a, b));
    return { entries: listed.slice(0, limit), next: listed[limit]?.[0] ?? null };
  }

  #status(id: number, txId: string): ServerFrame {
    const known = this.#outcomes.get(txId);
    const map = this.suspensions?.map;
    // The node that was suspended may have come back, and have committed it again.
    const outcome = known !== undefined && this.#isAgain(known, map) ? this.#commit(txId, [], map) : known;
    if (outcome !== undefined) return { type: 'status', id, status: 'committed', ts: outcome.ts };
    const status = this.#random.pick(['open', 'pending', 'aborted', 'unknown', 'forgotten', 'lost'] as const);
    return { type: 'status', id, status, ts: status === 'open' ? this.times.recent() : null };
  }

  #snapshotOf(
    { tx, at, deps }: { readonly tx?: string; readonly at?: Timestamp; readonly deps?: readonly number[] },
    open: OpenTransactions,
  ): Snapshot | undefined {
    return tx === undefined ? this.#snapshot(at, deps) : open.get(tx);
  }

  /** The requested one, or one that the node assigns. */
  #snapshot(at: Timestamp | undefined, deps: readonly Timestamp[] | undefined): Snapshot {
    const assigned = this.#world.assigned(this.#seen);
    if (at !== undefined && !this.#random.chance(0.03)) return { ts: at, deps: deps ?? assigned.deps };
    this.#seen = Math.max(this.#seen, assigned.ts);
    return assigned;
  }

  #token(): string {
    this.#tokens++;
    return `token-${this.#tokens}`;
  }
}

function seenOf({ seen, depends }: Seen): Pick<WireSeen, 'seen' | 'depends'> {
  if (depends === undefined) return { seen };
  return { seen, depends: depends.map(({ near, ...rest }) => ({ ...rest, ...(near === true ? { near } : {}) })) };
}

const fieldsOf = ({ ts, deps }: Snapshot): { snapshot: Timestamp; deps?: readonly Timestamp[] } => ({
  snapshot: ts,
  ...(deps === undefined ? {} : { deps }),
});

export const isHello = (frame: ClientFrame): frame is HelloFrame => frame.type === 'hello';
