import type { Content, KeyWrite, NodeId, PartitionId, QualifiedKey, StoredVersion, TxId, WallMs } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import { SIMULATION_START_MS } from '@isochron/simulated-world/wall-clock';
import type { BoardsPlan, FaultPlan } from '../../plan/plan.js';
import type { Check, CheckContext } from '../check.js';
import type { CommittedTx, Ledger } from '../evidence/ledger.js';

/** The document of a board. */
export interface Board {
  readonly by: string;
  readonly writers: readonly string[];
  readonly dismissed: readonly string[];
}

/** A transaction that a session has given to its client, and what of it was permitted since. */
interface BoardTransaction {
  readonly principal: string;
  readonly writes: readonly KeyWrite[];
  /** Whether all clocks of nodes were past the end of bids. */
  readonly isLate: boolean;
  /** Boards that a replica has read since, each with the writes that its newest durable document permits. */
  readonly read: Map<QualifiedKey, Set<QualifiedKey>>;
}

/**
 * No write takes effect that the rules forbid (AR8). From the time when a transaction is given to a client until it is
 * committed, each replica that reads a board for anyone has a newest durable document of it. The write is judged by one
 * of these documents, or a newer one; that one of them permits it leaves the window of a replica that lacks a change.
 * Some document of the board up to the highest stable time must permit the write, too, and a bid some clock. A founding
 * is refused only where there is a board in the end (AR9).
 */
export class WritesArePermitted implements Check {
  readonly name = 'writes-are-permitted';
  /** Writes of sessions with boards that took effect: whether a run has shown anything. */
  readonly counters = { permitted: 0 };
  readonly #open = new Map<TxId, BoardTransaction>();
  readonly #refused: { readonly session: string; readonly board: QualifiedKey }[] = [];
  #lostData = false;
  #clocksMoved = false;
  #stable = 0;

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
    readonly boards: BoardsPlan | undefined,
    /** The highest stable time of all nodes, and the lowest of their clocks. */
    readonly nodes: { readonly stable: () => number; readonly lowestClock: () => WallMs },
  ) {
    if (boards !== undefined) ledger.listen(this);
  }

  boardWrites(principal: string, txId: TxId, writes: readonly KeyWrite[]): void {
    const isLate = this.nodes.lowestClock() >= SIMULATION_START_MS + this.boards!.closesMs;
    this.#open.set(txId, { principal, writes, isLate, read: new Map() });
  }

  foundingRefused(session: string, board: QualifiedKey): void {
    this.#refused.push({ session, board });
  }

  slice(node: NodeId, _partition: PartitionId, _snapshot: Snapshot, keys: readonly QualifiedKey[]): void {
    if (this.#open.size === 0) return;
    this.#stable = Math.max(this.#stable, this.nodes.stable());
    const region = this.context.topology.regionOf(node);
    for (const key of keys) {
      if (!isBoard(key)) continue;
      const newest = this.ledger.chain(key).findLast(({ txId }) => this.ledger.isDurable(txId, region, key));
      for (const tx of this.#open.values()) this.#read(tx, key, boardOf(newest));
    }
  }

  onCommitted({ txId, ct }: Pick<CommittedTx, 'txId' | 'ct'>): void {
    const tx = this.#open.get(txId);
    this.#open.delete(txId);
    if (tx === undefined || this.#lostData) return;
    this.#stable = Math.max(this.#stable, this.nodes.stable());
    for (const write of tx.writes) {
      this.counters.permitted++;
      const why = this.#whyForbidden(tx, write);
      if (why !== undefined) this.#fail(`${tx.principal} has written ${write.key} at ${ct} by ${txId}: ${why}`, txId);
    }
  }

  fault({ kind }: FaultPlan): void {
    this.#clocksMoved ||= kind.startsWith('clock');
  }

  onDataLoss(): void {
    this.#lostData = true;
  }

  converged(): void {
    for (const { session, board } of this.#refused)
      if (this.ledger.chain(board).length === 0 && !this.#lostData)
        this.#fail(`${session} may not found ${board}, which is new`, session);
  }

  #read(tx: BoardTransaction, board: QualifiedKey, document: Board | null): void {
    for (const { key } of tx.writes) {
      if (boardFor(key) !== board) continue;
      const permitted = tx.read.get(board) ?? new Set();
      tx.read.set(board, permitted);
      if (permits(tx, key, document)) permitted.add(key);
    }
  }

  #whyForbidden(tx: BoardTransaction, { key }: KeyWrite): string | undefined {
    const board = boardFor(key);
    if (board === undefined) return tx.isLate && !this.#clocksMoved ? 'bids had closed by all clocks' : undefined;
    const read = tx.read.get(board);
    if (read !== undefined && !read.has(key)) return 'every replica that was read had a document that forbids it';
    const stable = this.ledger.chain(board).filter(({ ts }) => ts <= this.#stable);
    const isPermitted = [null, ...stable.map(boardOf)].some((document) => permits(tx, key, document));
    return isPermitted ? undefined : 'no document up to the stable time permits it';
  }

  #fail(message: string, about: string): void {
    this.context.fail(this.name, message, [about]);
  }
}

const isBoard = (key: QualifiedKey): boolean => key.split('/')[1] === 'boards';

/** The board on which the permission to write a key depends: none for bids. */
function boardFor(key: QualifiedKey): QualifiedKey | undefined {
  const [keyspace, kind, board] = key.split('/');
  return kind === 'bids' ? undefined : `${keyspace}/boards/${board}`;
}

/** Whether the rules permit a write, by this document of its board. */
function permits({ principal, writes }: BoardTransaction, key: QualifiedKey, document: Board | null): boolean {
  const own = writes.find((write) => write.key === boardFor(key));
  if (own?.key === key) return (document ?? parsed(own.value))?.by === principal;
  const after = own === undefined ? document : parsed(own.value);
  return after?.writers.includes(principal) === true;
}

const boardOf = (version: Pick<StoredVersion, 'value'> | undefined): Board | null =>
  version === undefined ? null : parsed(version.value);

const parsed = (value: Content): Board | null => (typeof value === 'string' ? (JSON.parse(value) as Board) : null);
