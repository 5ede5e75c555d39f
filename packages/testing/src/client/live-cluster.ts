/**
 * A model of a cluster for tests of live queries: the ordered log of its transactions, and nodes that serve snapshots
 * and changes up to a stable time of their own.
 */

import type { SocketId } from '@isochron/client/effects';
import type { Content, QualifiedKey, Timestamp, TxId, Value } from '@isochron/core/ids';
import { Update } from '@isochron/core/updates/update';
import { compareKeys, isOfLevel } from '@isochron/core/versions';
import { type CachedWrite, laidOver } from '@isochron/protocols/kernel/transactions/write-cache';
import type {
  ClientFrame,
  CommitFrame,
  ListFrame,
  LiveFrame,
  ReadFrame,
  ServerFrame,
  WatchedScope,
  WelcomeFrame,
  WireContent,
} from '@isochron/wire/session-frames';
import { ALL, refusal, ScriptedNode, ScriptedStore } from './scripted-node.js';

export interface ModelTransaction {
  readonly tx: TxId;
  readonly ts: Timestamp;
  readonly writes: readonly { readonly key: QualifiedKey; readonly value: Content }[];
}

const decoded = (content: WireContent): Content =>
  typeof content === 'object' && content !== null && 'operations' in content
    ? new Update(content.operations)
    : (content as string | null);

const encoded = (content: Content): WireContent =>
  content instanceof Update ? { operations: content.operations } : (content as string | null);

const cached = ({ ts, tx }: ModelTransaction, value: Content): CachedWrite => ({ ct: ts, txId: tx, value });

export class LiveCluster extends ScriptedStore {
  readonly log: ModelTransaction[] = [];
  /** Cursors below are refused. */
  keptAfter: Timestamp = 0;

  /** Commits above everything that is stable. */
  override commit({ tx, hwt, sentAfter, writes }: Pick<CommitFrame, 'tx' | 'hwt' | 'sentAfter' | 'writes'>): Timestamp {
    const known = this.outcomes.get(tx);
    if (known !== undefined) return known;
    this.clock = Math.max(this.clock, hwt, sentAfter) + 1;
    const decodedWrites = writes.map(({ key, value }) => ({ key, value: decoded(value) }));
    this.log.push({ tx, ts: this.clock, writes: decodedWrites });
    this.outcomes.set(tx, this.clock);
    return this.clock;
  }

  /** The document of a key in a snapshot. */
  at(key: QualifiedKey, snapshot: Timestamp): Value | null {
    const below = this.log.filter(({ ts }) => ts <= snapshot);
    const writes = below.flatMap((tx) =>
      tx.writes.filter((write) => write.key === key).map(({ value }) => cached(tx, value)),
    );
    return laidOver(null, writes) ?? null;
  }

  /** All keys that were ever written. */
  get keys(): readonly QualifiedKey[] {
    return [...new Set(this.log.flatMap(({ writes }) => writes.map(({ key }) => key)))].sort(compareKeys);
  }

  /** The net changes of the keys in some scopes. */
  changes(scopes: readonly WatchedScope[], after: Timestamp, to: Timestamp) {
    const net = new Map<QualifiedKey, [Timestamp, TxId, WireContent][]>();
    for (const { tx, ts, writes } of this.log) {
      if (ts <= after || ts > to) continue;
      for (const { key, value } of writes) {
        if (!scopes.some((scope) => isIn(scope, key))) continue;
        const before = value instanceof Update ? (net.get(key) ?? []) : [];
        net.set(key, [...before, [ts, tx, encoded(value)]]);
      }
    }
    return [...net];
  }
}

export function isIn({ keys, start = '', end = '', level }: Omit<WatchedScope, 'watch'>, key: QualifiedKey): boolean {
  return keys?.includes(key) ?? (compareKeys(start, key) <= 0 && compareKeys(key, end) < 0 && isOfLevel(level, key));
}

type Reply = (answer: object) => void;

interface HeldRequest {
  readonly frame: LiveFrame;
  readonly reply: Reply;
  readonly dueMs: number;
}

/** The scopes of a connection, and its request that waits. */
class Watcher {
  readonly scopes = new Map<number, WatchedScope>();
  readonly used = new Set<number>();
  waiting: HeldRequest | undefined;
}

export class LiveNode extends ScriptedNode {
  override capabilities: readonly string[] = [...ALL, 'updates', 'changes', 'live-queries', 'chained-commits'];
  /** This node's stable time. */
  ust: Timestamp = 1000;
  nowMs: () => number = () => 0;
  /** The end of an answer, at or below the node's stable time: answers may be cut. */
  cut: (after: Timestamp, to: Timestamp) => Timestamp = (_after, to) => to;
  /** Whether access rules refuse a scope now. */
  refuses: (scope: WatchedScope) => boolean = () => false;
  /** Runs before a frame is answered. */
  fault: (frame: ClientFrame) => ReturnType<ScriptedNode['script']> = () => undefined;
  readonly violations: string[] = [];
  readonly #watchers = new Map<SocketId, Watcher>();
  readonly #opened = new Map<TxId, Timestamp>();

  constructor(
    name: string,
    readonly cluster: LiveCluster,
  ) {
    super(name, cluster);
    this.script = (frame, reply, socket) => this.fault(frame) ?? this.#serve(frame, reply, socket);
  }

  /** Time has passed, or the stable time has risen. */
  tick(): void {
    for (const watcher of this.#watchers.values()) {
      const { waiting } = watcher;
      if (waiting === undefined) continue;
      const isDue = waiting.dueMs <= this.nowMs();
      if (isDue || this.#hasChanges(watcher, waiting.frame.after)) this.#answer(watcher);
    }
  }

  /** All requests that wait for changes are refused. */
  refuseWaiting(code: string): void {
    for (const watcher of this.#watchers.values()) {
      const { waiting } = watcher;
      watcher.waiting = undefined;
      waiting?.reply(refusal(waiting.frame.id, code, false));
    }
  }

  override welcome(): WelcomeFrame {
    return { ...super.welcome(), ust: this.ust };
  }

  #serve(frame: ClientFrame, reply: Reply, socket: SocketId): ReturnType<ScriptedNode['script']> {
    switch (frame.type) {
      case 'live':
        this.#live(frame, reply, socket);
        return 'drop';
      case 'start': {
        const at = frame.at ?? this.ust;
        if (at > this.ust) return refusal(frame.id, 'SNAPSHOT_UNAVAILABLE', true);
        this.#opened.set(frame.tx, at);
        return { type: 'started', id: frame.id, snapshot: at };
      }
      case 'read':
        return this.#read(frame);
      case 'list':
        return this.#list(frame);
      default:
        return undefined;
    }
  }

  #snapshot({ tx, at = this.ust }: ReadFrame | ListFrame): Timestamp | undefined {
    return tx === undefined ? at : this.#opened.get(tx);
  }

  #read(frame: ReadFrame): ServerFrame {
    const snapshot = this.#snapshot(frame);
    if (snapshot === undefined) return refusal(frame.id, 'TRANSACTION_UNKNOWN', false);
    const values = frame.keys.map((key) => this.cluster.at(key, snapshot));
    return {
      type: 'values',
      id: frame.id,
      snapshot,
      values: values.map((value) => (value === null ? null : [1, value as string])),
    };
  }

  #list(frame: ListFrame): ServerFrame {
    const snapshot = this.#snapshot(frame);
    if (snapshot === undefined) return refusal(frame.id, 'TRANSACTION_UNKNOWN', false);
    const { keyspace, prefix = '', start = '', level } = frame;
    // Short pages: a listing takes some time.
    const limit = 3;
    const keys = this.cluster.keys
      .filter((key) => key.startsWith(`${keyspace}/${prefix}`))
      .map((key) => key.slice(keyspace.length + 1))
      .filter((key) => compareKeys(key, start) >= 0);
    const entries = keys.slice(0, limit).flatMap((key) => {
      const value = this.cluster.at(`${keyspace}/${key}`, snapshot);
      return value === null || !isOfLevel(level, `${keyspace}/${key}`) ? [] : [[key, 1, value as string] as const];
    });
    return { type: 'listed', id: frame.id, snapshot, entries, next: keys[limit] ?? null };
  }

  #live(frame: LiveFrame, reply: Reply, socket: SocketId): void {
    const watcher = this.#watchers.get(socket) ?? new Watcher();
    this.#watchers.set(socket, watcher);
    this.#answer(watcher);
    for (const number of frame.remove ?? []) watcher.scopes.delete(number);
    for (const scope of frame.add ?? []) {
      if (watcher.used.has(scope.watch)) this.violations.push(`the number ${scope.watch} is used twice`);
      watcher.used.add(scope.watch);
      watcher.scopes.set(scope.watch, scope);
    }
    watcher.waiting = { frame, reply, dueMs: this.nowMs() + frame.waitMs };
    if (frame.waitMs === 0 || this.#hasChanges(watcher, frame.after)) this.#answer(watcher);
  }

  #hasChanges({ scopes }: Watcher, after: Timestamp): boolean {
    return after < this.cluster.keptAfter || this.cluster.changes([...scopes.values()], after, this.ust).length > 0;
  }

  /** Answers the request that waits with everything that is known. */
  #answer(watcher: Watcher): void {
    const { waiting, scopes } = watcher;
    if (waiting === undefined) return;
    watcher.waiting = undefined;
    const { frame, reply } = waiting;
    const { id, after } = frame;
    if (after < this.cluster.keptAfter) {
      reply(refusal(id, 'CHANGES_GONE', false));
      return;
    }
    const to = this.cut(after, Math.max(after, this.ust));
    const refused = [...scopes.values()].filter((scope) => this.refuses(scope));
    for (const { watch } of refused) scopes.delete(watch);
    const ended = refused.map(
      ({ watch }) => [watch, 'PERMISSION_DENIED', 'The access rule album refuses it.'] as const,
    );
    const changes = this.cluster.changes([...scopes.values()], after, to);
    reply({ type: 'live', id, to, changes, ...(ended.length > 0 && { ended }) });
  }
}
