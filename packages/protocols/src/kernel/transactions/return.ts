/**
 * The return of a node that was suspended (M9, M11, M12). The node owes the others the transactions that were deferred
 * because they needed it: they are committed again, each behind the transaction before, in the order of their first
 * timestamps.
 *
 * | state        | meaning                                                     | next                                |
 * | ------------ | ----------------------------------------------------------- | ----------------------------------- |
 * | `paid`       | owes nothing                                                | asking: a map makes it a member     |
 * | `asking`     | gathers what all members have deferred                      | fenced: all have answered           |
 * | `fenced`     | waits until attempts of earlier maps are decided (M9)       | committing: stable time has passed  |
 * | `committing` | commits what is whole, and drops what can never be          | paid: nothing is left               |
 *
 * A crash begins again with `asking`: a transaction that is committed already has that outcome (M8).
 */
import type { Need, NodeId, PartitionId, Timestamp, TxId, WallMs } from '@isochron/core';
import { type Address, dispatch, type Effects, type Handlers, type Input, type Machine } from '../../machine.js';
import { type NodeState, replicaName } from '../node-state.js';
import type { DeferredRecord } from './deferred-slices.js';
import { sliceOf } from './digest.js';
import type { CommitReq, CommitResp, Refused, TransactionMessage } from './messages.js';
import type { Replica } from './replica.js';
import type { DeferredReq, DeferredResp, DeferredSlice } from './return-messages.js';

type Out = Effects<TransactionMessage>;
type Taken = DeferredReq | DeferredResp | CommitResp | Refused;

/** Name of the machine. */
export const RETURN_MACHINE = 'return';
/** The version of the map up to which the node has paid. */
export const PAID = 'return/paid';
/** Unanswered requests are repeated after this time. */
const RETRY_MS = 200;

/** The slices of the latest attempt of a transaction. */
interface GatheredSlices {
  readonly slices: Map<PartitionId, DeferredSlice>;
  /** The earliest timestamp of the transaction in any attempt (M8). */
  readonly first: Timestamp;
}

interface Debt {
  /** Version of the map that has made the node a member again. */
  readonly version: number;
  readonly answered: Set<NodeId>;
  readonly gathered: Map<TxId, GatheredSlices>;
  /** Stable time must pass it before anything is committed (M9). */
  fence: Timestamp;
  /** What is whole, in order; undefined before the fence. */
  whole?: DeferredSlice[][] | undefined;
  /** Commit timestamp of the transaction before. */
  last: Timestamp;
  /** The rounds of the first of them that were refused. */
  rounds: number;
  /** The request that is not answered. */
  ref: number | undefined;
}

export class ReturnMachine implements Machine<TransactionMessage> {
  readonly counters = { recommitted: 0, dropped: 0 };
  #paid: number;
  #debt: Debt | undefined;
  #ref = 0;
  readonly #handlers: Handlers<Taken, [now: WallMs, from: Address, out: Out]> = {
    DeferredReq: (message, now, from, out) => this.#onDeferredReq(message, now, from, out),
    DeferredResp: (message, _now, from) => this.#onDeferredResp(message, from),
    CommitResp: (message, _now, _from, out) => this.#onCommitResp(message, out),
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
      dispatch(this.#handlers, input.message, input.now, input.from, out);
    else if (input.kind === 'timer') {
      this.#goOn(out);
      out.setTimer('owe', input.now + RETRY_MS);
    }
  }

  invariants(): void {}

  describe(): object {
    const { maps } = this.state;
    return {
      owes: this.#owes ? maps.current.version : null,
      left: this.#debt?.whole?.length ?? null,
      counters: this.counters,
    };
  }

  /** The node is a member, and a map has suspended it since it last paid. */
  get #owes(): boolean {
    const { maps, topology, node } = this.state;
    return topology.isMember(node) && maps.suspendedSince(this.#paid, [node]);
  }

  #goOn(out: Out): void {
    const { topology, node, stable } = this.state;
    if (!this.#owes) return;
    if (this.#debt?.version !== topology.version) this.#debt = newDebt(topology.version);
    const debt = this.#debt;
    const others = topology.members.filter((other) => other !== node && !debt.answered.has(other));
    for (const other of others)
      out.send({ node: other, machine: RETURN_MACHINE }, { type: 'DeferredReq', version: debt.version });
    if (others.length > 0) return;
    if (debt.whole === undefined) {
      debt.fence = Math.max(debt.fence, debt.fence === 0 ? this.state.clock.last : debt.fence);
      if (stable.aggregated < debt.fence) return;
      debt.whole = this.#wholeOf(debt, out);
    }
    if (debt.ref === undefined) this.#commitNext(debt, out);
  }

  #onDeferredReq({ version }: DeferredReq, now: WallMs, from: Address, out: Out): void {
    const { topology, clock } = this.state;
    if (version !== topology.version) return;
    out.sendAfterPersist(from, { type: 'DeferredResp', version, clock: clock.latest(now, 0), slices: this.#own() });
  }

  #onDeferredResp({ version, clock, slices }: DeferredResp, from: Address): void {
    const debt = this.#debt;
    if (debt?.version !== version || debt.answered.has(from.node)) return;
    debt.answered.add(from.node);
    debt.fence = Math.max(debt.fence, clock);
    for (const slice of slices) gather(debt.gathered, slice);
  }

  /** The deferred slices of this node. */
  #own(): DeferredSlice[] {
    return this.replicas.flatMap(({ partition, cohort }) =>
      cohort.slices.deferred.inOrder().map(([txId, record]) => sliceOfRecord(txId, partition, record)),
    );
  }

  /**
   * The transactions of which every slice is there, in order. Of the others, a slice was never prepared, or went with a
   * disk: they are dropped.
   */
  #wholeOf({ gathered }: Debt, out: Out): DeferredSlice[][] {
    for (const slice of this.#own()) gather(gathered, slice);
    const whole: { readonly first: Timestamp; readonly all: DeferredSlice[] }[] = [];
    for (const [txId, { slices, first }] of gathered) {
      const all = [...slices.values()];
      const { cohorts, attempt } = all[0]!;
      if (this.#waits(all)) continue;
      if (cohorts.length > 0 && cohorts.every((partition) => slices.has(partition))) whole.push({ first, all });
      else {
        this.counters.dropped++;
        for (const slice of all) {
          const { partition } = slice;
          const to = { node: this.#cohortOf(slice, partition), machine: replicaName(partition) };
          out.send(to, { type: 'DropDeferred', partition, txId, attempt });
        }
      }
    }
    whole.sort((a, b) => a.first - b.first || (a.all[0]!.txId < b.all[0]!.txId ? -1 : 1));
    return whole.map(({ all }) => all);
  }

  #cohortOf({ home, map, avoid }: DeferredSlice, partition: PartitionId): NodeId {
    return this.state.maps.at(map)!.cohort(partition, home, avoid).node;
  }

  /** Whether it needs another node that is away, or follows a transaction that may (M11). */
  #waits(slices: readonly DeferredSlice[]): boolean {
    const { topology } = this.state;
    const isAway = (node: NodeId) => !topology.isMember(node);
    const cohorts = slices[0]!.cohorts.map((partition) => this.#cohortOf(slices[0]!, partition));
    const isNeeded = ({ node }: Need) => (node === undefined ? !topology.isWhole : isAway(topology.nodes[node]!));
    return cohorts.some(isAway) || slices.some(({ needs }) => needs?.some(isNeeded));
  }

  /** One behind the other (M11). */
  #commitNext(debt: Debt, out: Out): void {
    const [slices] = debt.whole!;
    if (slices === undefined) {
      this.#paid = debt.version;
      this.#debt = undefined;
      out.write({ kind: 'meta', name: PAID, value: this.#paid });
      return;
    }
    const { node } = this.state;
    debt.ref = ++this.#ref;
    out.send({ node, machine: 'coordinator' }, this.#request(debt, debt.ref, slices));
  }

  #request({ version, last, rounds }: Debt, ref: number, slices: readonly DeferredSlice[]): CommitReq {
    const { region, stable, topology, node } = this.state;
    const { txId, attempt, home, map, avoid = [] } = slices[0]!;
    const before = Array.from({ length: attempt + 1 }, () => ({ home, map, avoid }));
    const again = Array.from({ length: rounds + 1 }, () => ({ home: region, map: version, avoid: [] as string[] }));
    const attempts = [...before, ...again];
    const needs = slices.flatMap((slice) => slice.needs ?? []).filter(({ ct }) => ct !== undefined);
    return {
      type: 'CommitReq',
      ref,
      txId,
      snapshot: stable.value,
      hwt: last,
      sentAfter: stable.value,
      attemptRegions: attempts.map((one) => one.home),
      principal: '',
      writes: slices.flatMap(({ writes }) => writes),
      avoids: attempts.map((one) => one.avoid),
      maps: attempts.map((one) => one.map),
      behind: last === 0 ? needs : [...needs, { node: topology.numberOf(node), ct: last }],
      digests: slices.map(({ partition, digest }) => ({ partition, digest })),
    };
  }

  #onCommitResp({ ref, ct }: CommitResp, out: Out): void {
    const debt = this.#debt;
    if (debt?.ref !== ref) return;
    debt.whole!.shift();
    debt.last = Math.max(debt.last, ct);
    debt.rounds = 0;
    debt.ref = undefined;
    this.counters.recommitted++;
    this.#commitNext(debt, out);
  }

  /** The same round is sent again; a round that was durably refused is over (M8). */
  #onRefused({ ref, code }: Refused): void {
    const debt = this.#debt;
    if (debt?.ref !== ref) return;
    debt.ref = undefined;
    if (code === 'TRANSACTION_ABORTED') debt.rounds++;
  }
}

const newDebt = (version: number): Debt => ({
  version,
  answered: new Set(),
  gathered: new Map(),
  fence: 0,
  last: 0,
  rounds: 0,
  ref: undefined,
});

/** Slices of the latest attempt count. */
function gather(gathered: Map<TxId, GatheredSlices>, slice: DeferredSlice): void {
  const { txId, partition, attempt } = slice;
  const known = gathered.get(txId);
  const first = Math.min(slice.first, known?.first ?? slice.first);
  const before = known?.slices ?? new Map<PartitionId, DeferredSlice>();
  const [{ attempt: latest } = slice] = before.values();
  const slices = attempt > latest ? new Map<PartitionId, DeferredSlice>() : before;
  if (attempt >= latest) slices.set(partition, slice);
  gathered.set(txId, { slices, first });
}

function sliceOfRecord(txId: TxId, partition: PartitionId, record: DeferredRecord): DeferredSlice {
  const { attempt, home, map, cohorts, avoid, deferred, ct = null, digest, writes, needs } = record;
  return {
    txId,
    partition,
    attempt,
    home,
    map,
    cohorts,
    avoid,
    first: deferred.first,
    ct,
    digest: sliceOf(digest),
    writes,
    needs,
  };
}
