/**
 * The settlement of a lost disk (D10; the paper stops before this): a node that came back without its disk finds the
 * transactions that are no longer whole, and either takes back their remains or reports them. The node with the lost
 * disk decides, from the own data of every other node:
 *
 * 1. notice: every node drops the votes of the previous incarnation. A transaction that was decided on one of them has
 *    left a record with each of its other cohorts by then.
 * 2. collect: every replica reports its own transactions above the stable time that have a cohort on this node. Those
 *    that are only prepared wait for the verdict: no commit message decides them meanwhile.
 * 3. take back: of these, the transactions whose slice has not come back with the copy are lost. Every node stores the
 *    verdict. If no reader can have seen them (the protocol's snapshots are stable, and stable time has not passed
 *    them), it removes their versions.
 *
 * Until every node has confirmed, this node publishes no version clock, so that UST stays below all of these
 * transactions: each becomes visible as a whole or not at all. Each round is repeated until it is answered, and starts
 * over after a crash.
 */
import type { NodeId, PartitionId, QualifiedKey, RegionId, Timestamp, TxId, WallMs } from '@isochron/core';
import { type Address, dispatch, type Effects, type Handlers, type Input, type Machine } from '../../machine.js';
import { SETTLEMENT_MACHINE } from '../node.js';
import { Addresses, type NodeState } from '../node-state.js';
import type { Loss } from '../replication/losses.js';
import type { Coordinator } from './coordinator.js';
import { LossReview } from './loss-review.js';
import type { OutcomeResp, TransactionMessage } from './messages.js';
import type { Replica } from './replica.js';
import type {
  LossNotice,
  LossNoticed,
  ReadSuspects,
  SettlementMessage,
  Suspect,
  SuspectsReq,
  SuspectsResp,
  TakeBackReq,
  TakeBackResp,
} from './settlement-messages.js';

type Out = Effects<TransactionMessage>;
/** The messages of the machine. */
type Taken = Exclude<SettlementMessage, SuspectsReq | ReadSuspects> | OutcomeResp;

/** Unanswered requests are repeated after this time. */
const RETRY_MS = 200;
/** Verdicts in one message. */
const VERDICTS = 200;

/** A transaction that may have lost a part, as its survivors report it. */
interface Gathered {
  readonly txId: TxId;
  readonly attempt: number;
  readonly committed: boolean;
  readonly ts: Timestamp;
  /** Partitions whose slices were on the lost disk. */
  readonly lost: readonly PartitionId[];
  readonly keys: ReadonlySet<QualifiedKey>;
}

/** The replica that is asked for its suspects, and the start of the page. */
interface SuspectsPage {
  readonly to: Address;
  readonly partition: PartitionId;
  after: Timestamp;
}

/** The progress of the settlement. */
export interface SettlementStatus {
  readonly settled: boolean;
  /** Nodes that have not answered the present round. */
  readonly waitingFor: readonly NodeId[];
}

export class Settlement implements Machine<TransactionMessage> {
  readonly #addresses: Addresses;
  readonly #review: LossReview;
  readonly #gathered = new Map<TxId, Gathered>();
  /** Keys of transactions where their cohorts are not known, as the cohort there may have lost its disk, too. */
  readonly #received = new Map<TxId, readonly QualifiedKey[]>();
  /** Losses that another node has decided before; perhaps not every node has its verdict. */
  readonly #known = new Map<TxId, Loss>();
  #round: 'notice' | 'collect' | 'take back' | undefined;
  #noticed = new Set<NodeId>();
  #pages = new Map<string, SuspectsPage>();
  #verdicts: readonly (readonly Loss[])[] = [];
  readonly #confirmed = new Map<NodeId, number>();
  readonly #handlers: Handlers<Taken, [now: WallMs, from: Address, out: Out]> = {
    LossNotice: (message, _now, from, out) => this.#onLossNotice(message, from, out),
    LossNoticed: (message, _now, from, out) => this.#onLossNoticed(message, from, out),
    SuspectsResp: (message, _now, from, out) => this.#onSuspectsResp(message, from, out),
    TakeBackReq: (message, now, from, out) => this.#onTakeBackReq(message, now, from, out),
    TakeBackResp: (message, _now, from, out) => this.#onTakeBackResp(message, from, out),
    OutcomeResp: (message, _now, from, out) => this.#review.onOutcomeResp(message, from, out),
  };

  constructor(
    readonly state: NodeState,
    readonly replicas: readonly Replica[],
    readonly coordinator: Pick<Coordinator, 'commits' | 'settles'>,
  ) {
    this.#addresses = new Addresses(state.maps);
    this.#review = new LossReview(state);
  }

  step(input: Input<TransactionMessage>, out: Out): void {
    if (input.kind === 'timer') {
      this.#begin();
      this.#goOn(out);
      this.#ask(out);
      if (this.state.membership.joined) this.#review.ask(input.now, out);
      out.setTimer('settle', input.now + RETRY_MS);
    } else if (input.kind === 'message' && this.state.membership.joined) {
      const { message, now, from } = input;
      if (this.state.topology.hasNode(from.node)) dispatch(this.#handlers, message, now, from, out);
    } else if (input.kind === 'persisted') this.#finishWhenDurable(input.upTo);
  }

  invariants(): void {}

  describe(): SettlementStatus {
    const { settled } = this.state.membership;
    return { settled, waitingFor: [...new Set(this.#open().map(({ node }) => node))] };
  }

  /** All nodes but nodes that never come back (M14). */
  get #nodes(): readonly NodeId[] {
    const { topology, maps } = this.state;
    return topology.nodes.filter((node) => maps.isAwaited(node));
  }

  /** The first round begins once the node has its copies. */
  #begin(): void {
    const { joined, settled } = this.state.membership;
    if (joined && !settled) this.#round ??= 'notice';
  }

  /** The addresses that the present round waits for. */
  #open(): readonly Address[] {
    const machine = SETTLEMENT_MACHINE;
    if (this.#round === 'notice')
      return this.#nodes.filter((node) => !this.#noticed.has(node)).map((node) => ({ node, machine }));
    if (this.#round === 'collect') return [...this.#pages.values()].map(({ to }) => to);
    if (this.#round !== 'take back') return [];
    const waits = (node: NodeId) => (this.#confirmed.get(node) ?? 0) < this.#verdicts.length;
    return this.#nodes.filter(waits).map((node) => ({ node, machine }));
  }

  /** Sends, or sends again, the requests of the present round. */
  #ask(out: Out): void {
    const { incarnation } = this.state.membership;
    if (this.#round === 'notice') for (const to of this.#open()) out.send(to, { type: 'LossNotice', incarnation });
    else if (this.#round === 'collect') for (const page of this.#pages.values()) this.#askPage(page, out);
    else for (const to of this.#open()) this.#takeBack(to, out);
  }

  // Every node: round 1.

  #onLossNotice({ incarnation }: LossNotice, from: Address, out: Out): void {
    this.coordinator.commits.dropVotes(from.node);
    this.coordinator.settles.dropVotes(from.node);
    for (const { cohort } of this.replicas) cohort.resolver.dropVotes(from.node);
    // Another node that lost its disk may have stopped in the middle of its own verdict.
    const { records } = this.state.losses;
    const isOpen = ({ ts }: Loss) => ts > this.state.stable.aggregated;
    const [losses, reported] = [records.filter(isOpen), records.filter((loss) => !isOpen(loss))];
    const map = this.state.maps.highestPromised;
    out.sendAfterPersist(from, { type: 'LossNoticed', incarnation, losses, reported, map });
  }

  // The node with the lost disk.

  #onLossNoticed({ incarnation, losses, reported, map }: LossNoticed, from: Address, out: Out): void {
    if (this.#round !== 'notice' || incarnation !== this.state.membership.incarnation) return;
    if (![...losses, ...reported].every((loss) => this.#makesSense(loss))) return;
    this.#noticed.add(from.node);
    this.state.losses.add(reported, out);
    // The lost disk may have voted for the map under way; its decider knows of that one.
    this.state.maps.abstain(map, out);
    for (const loss of losses) this.#known.set(loss.txId, loss);
    if (this.#goOn(out)) this.#ask(out);
  }

  /** Goes on to the next round once nothing of the present round is missing; perhaps a node is evicted meanwhile. */
  #goOn(out: Out): boolean {
    for (const [name, { to }] of this.#pages) if (!this.state.maps.isAwaited(to.node)) this.#pages.delete(name);
    if (this.#round === undefined || this.#open().length > 0) return false;
    if (this.#round === 'notice') this.#collect();
    else if (this.#round === 'collect') this.#takeAllBack();
    else this.#settled(out);
    return true;
  }

  #collect(): void {
    this.#round = 'collect';
    for (const { id, regions } of this.state.topology.partitions) {
      for (const region of regions) {
        const to = this.#addresses.replica(id, region);
        if (this.#nodes.includes(to.node))
          this.#pages.set(pageName(id, region), { to, partition: id, after: this.state.membership.unsettledAfter });
      }
    }
  }

  #takeAllBack(): void {
    this.#verdicts = chunks([...this.#known.values(), ...this.#decide()]);
    this.#round = 'take back';
  }

  #askPage({ to, partition, after }: SuspectsPage, out: Out): void {
    out.send(to, { type: 'SuspectsReq', partition, after });
  }

  #onSuspectsResp({ partition, region, after, suspects, next }: SuspectsResp, from: Address, out: Out): void {
    const name = pageName(partition, region);
    const page = this.#pages.get(name);
    if (this.#round !== 'collect' || page?.to.node !== from.node || page.after !== after) return;
    for (const suspect of suspects) this.#gather(suspect);
    if (next !== null) {
      page.after = next;
      this.#askPage(page, out);
      return;
    }
    this.#pages.delete(name);
    if (this.#goOn(out)) this.#ask(out);
  }

  #gather({ txId, attempt, committed, ts, partitions, keys }: Suspect): void {
    if (partitions.length === 0) this.#received.set(txId, [...(this.#received.get(txId) ?? []), ...keys]);
    const found = (partition: PartitionId) => this.state.reader.outcome(partition, txId)?.status === 'committed';
    const lost = partitions.filter((partition) => !found(partition));
    if (lost.length === 0) return;
    const report = { txId, attempt, committed, ts, lost, keys: new Set(keys) };
    const before = this.#gathered.get(txId);
    this.#gathered.set(txId, before === undefined ? report : merged(before, report));
  }

  #decide(): readonly Loss[] {
    const { node, stable } = this.state;
    return [...this.#gathered.values()].map(({ txId, attempt, committed, ts, lost, keys }) => ({
      txId,
      attempt,
      committed,
      ts,
      takenBack: !committed || (this.state.stableSnapshots && ts > stable.aggregated),
      node,
      partitions: lost,
      keys: [...new Set([...keys, ...(this.#received.get(txId) ?? [])])],
      acknowledged: false,
      overtaken: false,
    }));
  }

  #takeBack(to: Address, out: Out): void {
    const part = this.#confirmed.get(to.node) ?? 0;
    const last = part === this.#verdicts.length - 1;
    out.send(to, { type: 'TakeBackReq', part, last, losses: this.#verdicts[part]! });
  }

  #onTakeBackResp({ part }: TakeBackResp, from: Address, out: Out): void {
    if (this.#round !== 'take back' || part !== (this.#confirmed.get(from.node) ?? 0)) return;
    this.#confirmed.set(from.node, part + 1);
    if (part + 1 < this.#verdicts.length) this.#takeBack({ node: from.node, machine: SETTLEMENT_MACHINE }, out);
    else this.#goOn(out);
  }

  #settled(out: Out): void {
    this.#round = undefined;
    this.#seq = out.write({ kind: 'meta', name: 'unsettled', value: 0 });
  }

  #seq: number | undefined;

  #finishWhenDurable(upTo: number): void {
    if (this.#seq === undefined || this.#seq > upTo) return;
    this.#seq = undefined;
    this.state.membership.settle();
  }

  // Every node: round 3.

  #onTakeBackReq({ part, last, losses }: TakeBackReq, now: WallMs, from: Address, out: Out): void {
    const { state } = this;
    if (!losses.every((loss) => this.#makesSense(loss))) return;
    const credible = losses.filter((loss) => this.#isCredible(loss, from));
    state.losses.add(credible, out);
    for (const loss of credible) for (const replica of this.replicas) replica.takeBack(loss, now, out);
    if (last) {
      state.membership.unsettledPeers.delete(from.node);
      for (const { cohort } of this.replicas) cohort.suspects.resume(from.node);
    }
    out.sendAfterPersist(from, { type: 'TakeBackResp', part });
  }

  /** A node may report the loss of its own parts, but not of transactions that the cohorts here know as others'. */
  #isCredible(loss: Loss, from: Address): boolean {
    const doubting = this.replicas.find(({ cohort }) => !cohort.suspects.mayBeLost(loss));
    doubting?.cohort.slices.ignoreOutsider('TakeBackReq', loss.txId, from);
    return doubting === undefined;
  }

  /** D12. A loss that several lost disks share names one of their nodes, and the partitions of all. */
  #makesSense({ node, partitions, keys }: Loss): boolean {
    const { topology } = this.state;
    const held = new Set(topology.hasNode(node) ? topology.partitionsOn(node) : []);
    return (
      partitions.some((id) => held.has(id)) &&
      partitions.every((id) => id < topology.partitions.length) &&
      keys.every((key) => topology.hasKey(key))
    );
  }
}

/**
 * Two reports of one transaction as one. A survivor that has committed knows the commit timestamp; the others know
 * their proposals in an attempt, of which the last one counts. A committed slice among the copied data has lost its
 * attempt (0): its keys belong to the transaction all the same, as every attempt writes the same ones.
 */
function merged(one: Gathered, other: Gathered): Gathered {
  const [best, rest] = knowsMore(one, other) ? [one, other] : [other, one];
  const areAlike = best.committed === rest.committed && best.attempt === rest.attempt;
  return {
    ...best,
    attempt: Math.max(best.attempt, rest.attempt),
    ts: areAlike ? Math.max(best.ts, rest.ts) : best.ts,
    keys: new Set([...one.keys, ...other.keys]),
  };
}

const knowsMore = (one: Gathered, other: Gathered): boolean =>
  one.committed === other.committed ? one.attempt >= other.attempt : one.committed;

const pageName = (partition: PartitionId, region: RegionId): string => `${partition}/${region}`;

/** Verdicts by message: at least one message, so that every node knows that the verdict is there. */
function chunks(losses: readonly Loss[]): readonly (readonly Loss[])[] {
  const parts: Loss[][] = [];
  for (let at = 0; at < losses.length || parts.length === 0; at += VERDICTS)
    parts.push(losses.slice(at, at + VERDICTS));
  return parts;
}
