/**
 * The return of a node that was suspended (M9, M11, M12). The node owes the others the transactions that were deferred
 * because they needed it: they are committed again, each behind the transactions that it follows, many at a time.
 *
 * | state        | meaning                                                     | next                                |
 * | ------------ | ----------------------------------------------------------- | ----------------------------------- |
 * | `paid`       | owes nothing                                                | fenced: a map makes it a member     |
 * | `fenced`     | waits until attempts of earlier maps are decided (M9)       | asking: stable time has passed      |
 * | `asking`     | gathers what all members have deferred                      | committing: all have answered       |
 * | `committing` | commits what is whole, and drops what can never be          | paid: nothing is left               |
 *
 * A crash begins again with `fenced`: a transaction that is committed already has that outcome (M8).
 *
 * What was deferred because of a node that is evicted (M14) is owed by the first member with replicas, in the same way:
 * a transaction is committed again where the members have every slice, and dropped where they do not.
 */
import type { ErrorCode, Need, NodeId, PartitionId, Timestamp, TxId, WallMs } from '@isochron/core';
import { type Address, dispatch, type Effects, type Handlers, type Input, type Machine } from '../../machine.js';
import { MAPS_MACHINE } from '../maps/map-machine.js';
import { type NodeState, replicaName } from '../node-state.js';
import type { Cohort } from './cohort.js';
import type { DeferredRecord } from './deferred-slices.js';
import { sliceOf } from './digest.js';
import type { CommitReq, CommitResp, Refused, TransactionMessage } from './messages.js';
import { type FoundTransaction, inChains, type Owed } from './owed.js';
import type { Replica } from './replica.js';
import type { DeferredReq, DeferredResp, DeferredSlice } from './return-messages.js';

type Out = Effects<TransactionMessage>;
type Taken = DeferredReq | DeferredResp | CommitResp | Refused;

/** Name of the machine. */
export const RETURN_MACHINE = 'return';
/** The version of the map up to which the node has paid. */
export const PAID = 'return/paid';
/** Unanswered and refused requests are repeated after this time. */
const RETRY_MS = 200;
/** This many commits are under way at most. */
const WINDOW = 64;
/** Refusals by a cohort that may have known an outcome. */
const UNREMEMBERED: ReadonlySet<ErrorCode> = new Set(['OUTCOME_FORGOTTEN', 'OUTCOME_LOST']);
/** How often members send the newest map to a node that is away: an earlier message may be lost. */
const REMIND_MS = 1_000;

/** The slices of a transaction that some nodes have deferred. */
interface GatheredSlices {
  readonly attempts: Map<number, Map<PartitionId, DeferredSlice>>;
  /** What replicas had received of slices of suspended nodes, and the nodes of these replicas. */
  readonly copies: Map<PartitionId, DeferredSlice>;
  readonly holders: { readonly node: NodeId; readonly slice: DeferredSlice }[];
  /** The earliest timestamp of the transaction in any attempt (M8). */
  first: Timestamp;
}

interface Debt {
  /** Version of the map that has made the node a member again. */
  readonly version: number;
  /** The stable time of the questions. What was committed again at or below this time is not gathered. */
  readonly stable: Timestamp;
  readonly answered: Set<NodeId>;
  readonly gathered: Map<TxId, GatheredSlices>;
  /** What follows nothing that is not committed again; undefined while an answer is missing. */
  ready?: Owed[] | undefined;
  /** How many transactions are not committed again. */
  left: number;
  /** The requests that are not answered. */
  readonly open: Map<number, Owed>;
  /** Refused requests: the next timer sends the transactions again. */
  readonly refused: Owed[];
  /** Some transactions need a node that has left in order. */
  isHeld: boolean;
}

export class ReturnMachine implements Machine<TransactionMessage> {
  readonly counters = { recommitted: 0, dropped: 0 };
  #paid: number;
  #debt: Debt | undefined;
  #ref = 0;
  #remindedAt: WallMs = 0;
  readonly #handlers: Handlers<Taken, [from: Address, out: Out]> = {
    DeferredReq: (message, from, out) => this.#onDeferredReq(message, from, out),
    DeferredResp: (message, from) => this.#onDeferredResp(message, from),
    CommitResp: (message, _from, out) => this.#onCommitResp(message, out),
    Refused: (message) => this.#onRefused(message),
  };

  constructor(
    readonly state: NodeState,
    readonly replicas: readonly Replica[],
    paid: number,
  ) {
    this.#paid = paid;
  }

  step(input: Input<TransactionMessage>, out: Out): void {
    if (input.kind === 'message' && this.state.topology.hasNode(input.from.node))
      dispatch(this.#handlers, input.message, input.from, out);
    else if (input.kind === 'timer') {
      this.#goOn(out);
      this.#remind(input.now, out);
      out.setTimer('owe', input.now + RETRY_MS);
    }
  }

  invariants(): void {}

  describe(): object {
    const { maps } = this.state;
    return {
      owes: this.owes ? maps.current.version : null,
      left: this.#debt?.ready && this.#debt.left,
      counters: this.counters,
    };
  }

  /** Whether the node is a member, and a map has suspended it, or made it the heir of others, since it last paid. */
  get owes(): boolean {
    const { maps, topology, node } = this.state;
    if (!topology.isMember(node)) return false;
    return maps.suspendedSince(this.#paid, [node]) || (this.#isHeir && maps.evictsSince(this.#paid));
  }

  /** Whether the node owes what evicted nodes would owe at their return. */
  get #isHeir(): boolean {
    const { topology, node } = this.state;
    return topology.members.find((member) => topology.partitionsOn(member).length > 0) === node;
  }

  #remind(now: WallMs, out: Out): void {
    const { topology, maps, node } = this.state;
    if (topology.isWhole || !topology.isMember(node) || Math.abs(now - this.#remindedAt) < REMIND_MS) return;
    this.#remindedAt = now;
    const reminder = { type: 'DecidedMaps', maps: [maps.newest] } as const;
    for (const other of topology.nodes)
      if (!topology.isMember(other)) out.send({ node: other, machine: MAPS_MACHINE }, reminder);
  }

  #goOn(out: Out): void {
    const { topology, node, stable } = this.state;
    if (!this.owes || !stable.isFenced) return;
    if (this.#debt?.version !== topology.version) this.#debt = newDebt(topology.version, stable.aggregated);
    const debt = this.#debt;
    const others = topology.members.filter((other) => other !== node && !debt.answered.has(other));
    const request = { type: 'DeferredReq', version: debt.version, stable: debt.stable } as const;
    for (const other of others) out.send({ node: other, machine: RETURN_MACHINE }, request);
    if (others.length > 0) return;
    debt.ready ??= this.#readyOf(debt, out);
    debt.ready.unshift(...debt.refused.splice(0));
    this.#commitReady(debt, out);
  }

  #onDeferredReq({ version, stable }: DeferredReq, from: Address, out: Out): void {
    if (version !== this.state.topology.version) return;
    out.sendAfterPersist(from, { type: 'DeferredResp', version, slices: this.#own(stable) });
  }

  #onDeferredResp({ version, slices }: DeferredResp, from: Address): void {
    const debt = this.#debt;
    if (debt?.version !== version || debt.answered.has(from.node)) return;
    debt.answered.add(from.node);
    for (const slice of slices) gather(debt.gathered, slice, from.node);
  }

  /**
   * The deferred slices of this node, except of transactions that were committed again at or below a stable time: all
   * members know of such a commit. Outcomes above may be on their way. Past the fence, no outcome of an earlier map
   * lies above (M9).
   */
  #own(stable: Timestamp): DeferredSlice[] {
    const isDone = ({ slices }: Cohort, txId: TxId): boolean => {
      const known = slices.known(txId, 0);
      return known?.state === 'committed' && known.ct <= stable;
    };
    return this.replicas.flatMap(({ partition, cohort }) => {
      const { deferred } = cohort.slices;
      const own = deferred.inOrder().filter(([txId]) => !isDone(cohort, txId));
      const copies = [...deferred.copies].filter(([txId]) => !isDone(cohort, txId));
      return [
        ...own.flatMap(([txId, records]) => records.map((record) => sliceOfRecord(txId, partition, record))),
        ...copies.map(([txId, record]) => ({ ...sliceOfRecord(txId, partition, record), isCopy: true })),
      ];
    });
  }

  /**
   * The transactions of which every slice of an attempt is there, in order. Of the others, a slice was never prepared,
   * or went with a disk or an evicted node: they are dropped.
   */
  #readyOf(debt: Debt, out: Out): Owed[] {
    const { gathered } = debt;
    const { maps, topology } = this.state;
    for (const slice of this.#own(debt.stable)) gather(gathered, slice, this.state.node);
    const found: FoundTransaction[] = [];
    for (const one of gathered.values()) {
      const slices = slicesOf(one);
      const { first, holders } = one;
      const timestamps = slices.flat().map(({ pt, ct }) => ct ?? pt);
      // Left to the return of the suspended node, which owes it, too.
      const isLeft = slices.some((all) => this.#waits(all, (node) => maps.isSuspended(node)));
      // A node that has left in order owes nothing: this debt lasts until that node is back.
      const isAway = (node: NodeId) => !topology.isMember(node) && !topology.evicted.includes(node);
      const isHeld = !isLeft && slices.some((all) => this.#waits(all, isAway));
      if (isHeld) debt.isHeld = true;
      const all = slices.find((ofAttempt) => ofAttempt[0]!.cohorts.length === ofAttempt.length);
      if (isLeft || isHeld) found.push({ first, slices: slices.flat(), timestamps, waits: true });
      else if (all !== undefined) found.push({ first, slices: all, timestamps, waits: false });
      else this.#drop(holders, out);
    }
    const { count, ready } = inChains(found);
    debt.left = count;
    return ready;
  }

  #drop(holders: GatheredSlices['holders'], out: Out): void {
    this.counters.dropped++;
    for (const { node, slice } of holders) {
      const { partition, txId, attempt } = slice;
      out.send({ node, machine: replicaName(partition) }, { type: 'DropDeferred', partition, txId, attempt });
    }
  }

  #cohortOf({ home, map, avoid }: DeferredSlice, partition: PartitionId): NodeId {
    return this.state.maps.at(map)!.cohort(partition, home, avoid).node;
  }

  /** Whether it needs another node that is away, or follows a transaction that may (M11). */
  #waits(slices: readonly DeferredSlice[], isAway: (node: NodeId) => boolean): boolean {
    const { nodes } = this.state.topology;
    const known = [...slices[0]!.cohorts, ...slices.filter(({ isCopy }) => isCopy).map(({ partition }) => partition)];
    const cohorts = known.map((partition) => this.#cohortOf(slices[0]!, partition));
    const isNeeded = ({ node }: Need) => (node === undefined ? nodes.some(isAway) : isAway(nodes[node]!));
    return cohorts.some(isAway) || slices.some(({ needs }) => needs?.some(isNeeded));
  }

  /** Each transaction is behind the earlier transactions of its chain (M11). */
  #commitReady(debt: Debt, out: Out): void {
    const { node } = this.state;
    const ready = debt.ready!;
    for (const owed of ready.splice(0, Math.max(0, WINDOW - debt.open.size))) {
      debt.open.set(++this.#ref, owed);
      out.send({ node, machine: 'coordinator' }, this.#request(debt, this.#ref, owed));
    }
    if (debt.left > 0 || debt.isHeld) return;
    this.#paid = debt.version;
    this.#debt = undefined;
    out.write({ kind: 'meta', name: PAID, value: this.#paid });
  }

  /**
   * Another sender may have committed the transaction again since the questions: at a timestamp above their stable
   * time, so a cohort that has the outcome finds it, or has forgotten it.
   */
  #request({ version, stable }: Debt, ref: number, { first, slices, hwt, behind, rounds }: Owed): CommitReq {
    const { region } = this.state;
    const { txId, home, map, avoid = [] } = slices[0]!;
    const again = Array.from({ length: rounds + 1 }, () => ({ home: region, map: version, avoid: [] as string[] }));
    const attempts = [{ home, map, avoid }, ...again];
    return {
      type: 'CommitReq',
      ref,
      txId,
      snapshot: stable,
      hwt,
      sentAfter: stable,
      attemptRegions: attempts.map((one) => one.home),
      principal: '',
      writes: slices.flatMap(({ writes }) => writes),
      avoids: attempts.map((one) => one.avoid),
      maps: attempts.map((one) => one.map),
      behind: [...behind].map(([needed, ct]) => ({ ...(needed !== undefined && { node: needed }), ct })),
      digests: slices.map(({ partition, digest }) => ({ partition, digest })),
      first,
    };
  }

  #onCommitResp({ ref, ct, nodes }: CommitResp, out: Out): void {
    const debt = this.#debt;
    const owed = debt?.open.get(ref);
    if (debt === undefined || owed === undefined) return;
    debt.open.delete(ref);
    debt.left--;
    this.counters.recommitted++;
    debt.ready!.push(...owed.committed(ct, nodes));
    this.#commitReady(debt, out);
  }

  /**
   * The same round is sent again; a round that was durably refused is over (M8). Where an outcome since the questions
   * may be forgotten (D5, D10), the members are asked anew.
   */
  #onRefused({ ref, code }: Refused): void {
    const debt = this.#debt;
    const owed = debt?.open.get(ref);
    if (debt === undefined || owed === undefined) return;
    if (UNREMEMBERED.has(code)) this.#debt = newDebt(debt.version, this.state.stable.aggregated);
    if (code === 'TRANSACTION_ABORTED') owed.rounds++;
    debt.open.delete(ref);
    debt.refused.push(owed);
  }
}

const newDebt = (version: number, stable: Timestamp): Debt => ({
  version,
  stable,
  answered: new Set(),
  gathered: new Map(),
  left: 0,
  open: new Map(),
  refused: [],
  isHeld: false,
});

function gather(gathered: Map<TxId, GatheredSlices>, slice: DeferredSlice, node: NodeId): void {
  const { txId, partition, attempt, first, isCopy } = slice;
  const known: GatheredSlices = gathered.get(txId) ?? { attempts: new Map(), copies: new Map(), holders: [], first };
  gathered.set(txId, known);
  known.first = Math.min(known.first, first);
  known.holders.push({ node, slice });
  if (isCopy) known.copies.set(partition, slice);
  if (isCopy) return;
  const slices = known.attempts.get(attempt) ?? new Map<PartitionId, DeferredSlice>();
  slices.set(partition, slice);
  known.attempts.set(attempt, slices);
}

/**
 * The slices of each attempt, the latest first. A copy takes the place of a slice that is nowhere else: of the attempt
 * with the same commit timestamp, or of the latest attempt, whose other slices are votes. The commits of all attempts
 * write the same.
 */
function slicesOf({ attempts, copies }: GatheredSlices): DeferredSlice[][] {
  const inOrder = [...attempts].sort(([a], [b]) => b - a).map(([, slices]) => slices);
  if (inOrder.length === 0) return [[...copies.values()]];
  return inOrder.map((slices, i) => {
    const own = [...slices.values()];
    const ct = own.find((one) => one.ct !== null)?.ct;
    const isMissing = (copy: DeferredSlice) => own[0]!.cohorts.includes(copy.partition) && !slices.has(copy.partition);
    const fits = (copy: DeferredSlice) => (ct === undefined ? i === 0 : copy.ct === ct);
    return [...own, ...[...copies.values()].filter((copy) => isMissing(copy) && fits(copy))];
  });
}

function sliceOfRecord(txId: TxId, partition: PartitionId, record: DeferredRecord): DeferredSlice {
  const { attempt, home, map, cohorts, avoid, deferred, pt, ct = null, digest, writes, needs } = record;
  return {
    txId,
    partition,
    attempt,
    home,
    map,
    cohorts,
    avoid,
    first: deferred.first,
    pt,
    ct,
    digest: sliceOf(digest),
    writes,
    needs,
  };
}
