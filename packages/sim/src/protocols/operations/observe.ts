/** The meaning of the messages of single operations for the checks. */
import type { Deps, PartitionId, StoredVersion, Topology, Version } from '@isochron/core';
import type { Address, OperationMessage, PutSliceReq, RotSliceReq, SettleReq } from '@isochron/protocols';
import type { Observations } from '../../checks/evidence/observations.js';
import { observeReplication } from '../kernel.js';
import type { SimulatedComplete, SimulatedSeen, SimulatedSnapshots } from './simulated.js';

type MessageOf<T extends OperationMessage['type']> = Extract<OperationMessage, { type: T }>;

/**
 * An answer refers to its question by a reference alone. So the question is kept beside its answer, until that leaves.
 */
export class Answers {
  readonly #questions = new WeakMap<OperationMessage, OperationMessage>();

  constructor(
    readonly snapshots: SimulatedSnapshots | undefined,
    readonly seen: SimulatedSeen | undefined,
    readonly complete: SimulatedComplete | undefined,
  ) {}

  /** A step that a message has caused has made another one. */
  caused(message: OperationMessage, cause: OperationMessage): void {
    this.#questions.set(message, cause.type === 'WaitedSlice' ? cause.request : cause);
  }

  /** Promises, at the moment at which another machine may receive them. */
  observeSend(message: OperationMessage, from: Address, to: Address, observer: Observations, topology: Topology): void {
    this.#complete(message, from, observer, topology);
    switch (message.type) {
      case 'Heartbeat':
      case 'Heartbeats':
      case 'Replicate':
      case 'GossipDown':
        observeReplication(message, from, to, observer);
        break;
      case 'GetSliceReq':
      case 'RotSliceReq':
        observer.asked(message);
        this.#chosen(message, from, observer);
        break;
      case 'WaitedSlice':
        if (message.request.type !== 'PutSliceReq')
          observer.waited(from.node, message.request.partition, message.request);
        break;
      case 'PutResp':
        observer.committed(from.node, message.txId, null, message.ts);
        break;
      default: {
        const question = this.#questions.get(message);
        if (question !== undefined) this.#answered(message, question, from, observer, topology);
      }
    }
  }

  #complete(message: OperationMessage, { node }: Address, observer: Observations, topology: Topology): void {
    const writes = this.complete?.(message, this.#questions.get(message), topology);
    if (writes !== undefined) observer.complete(node, writes.partition, writes.region, writes.upTo);
  }

  #answered(
    message: OperationMessage,
    question: OperationMessage,
    from: Address,
    observer: Observations,
    topology: Topology,
  ): void {
    if (message.type === 'GetSliceResp' && question.type === 'GetSliceReq')
      this.#observeGet(message, question, from, observer, topology);
    else if (message.type === 'RotSliceResp' && question.type === 'RotSliceReq')
      this.#observeSnapshot(message, question, from, observer, topology);
    else if (message.type === 'SettleResp' && question.type === 'SettleReq')
      observeSettlement(message, question, from, observer);
    else if (question.type === 'PutSliceReq') this.#observePut(message, question, from, observer, topology);
    else if (message.type === 'SnapResp' && question.type === 'SnapReq')
      this.#covers(question.seen, message.snapshot, from, observer);
  }

  /** Where the client's node chooses the snapshot, its requests show the choice. */
  #chosen(message: MessageOf<'GetSliceReq' | 'RotSliceReq'>, from: Address, observer: Observations): void {
    const question = this.#questions.get(message);
    if (message.type === 'RotSliceReq' && question?.type === 'RotReq')
      this.#covers(question.seen, message.snapshot, from, observer);
  }

  #covers(seen: Deps, snapshot: Deps, { node }: Address, observer: Observations): void {
    if (this.seen === undefined || seen.length === 0) return;
    observer.chosen(node, `${snapshot} for ${seen}`, this.seen.inSnapshot(seen, snapshot));
  }

  #observeGet(
    { version, seen }: MessageOf<'GetSliceResp'>,
    { partition, key }: MessageOf<'GetSliceReq'>,
    from: Address,
    observer: Observations,
    topology: Topology,
  ): void {
    shown(from, partition, [version], observer);
    const region = topology.regionOf(from.node);
    const covers = (one: StoredVersion) => this.seen?.hasVersion(seen, one, region, topology) ?? true;
    if (version !== null) observer.learned(from.node, version.txId, key, covers);
  }

  #observePut(
    message: OperationMessage,
    { txId, attempt, seen }: PutSliceReq,
    { node }: Address,
    observer: Observations,
    topology: Topology,
  ): void {
    if (message.type === 'PutSliceResp') {
      const region = topology.regionOf(node);
      observer.committed(node, txId, null, message.ts);
      if (seen.length > 0)
        observer.stamped(node, txId, (one) => this.seen?.inVersion(seen, one, region, topology) ?? true);
    } else if (message.type === 'Refused' && message.code === 'TRANSACTION_ABORTED')
      observer.aborted(node, txId, attempt);
  }

  #observeSnapshot(
    { versions }: MessageOf<'RotSliceResp'>,
    { partition, snapshot, keys }: RotSliceReq,
    from: Address,
    observer: Observations,
    topology: Topology,
  ): void {
    shown(from, partition, versions, observer);
    const { snapshots } = this;
    if (snapshots === undefined) return;
    const { node } = from;
    const region = topology.regionOf(node);
    observer.slice(node, partition, snapshots.snapshot(snapshot, region, topology), keys, versions);
    const closed = snapshots.closes(snapshot, region, topology);
    if (closed > 0) observer.published(node, partition, closed);
  }
}

function shown(
  { node }: Address,
  partition: PartitionId,
  versions: readonly (Version | null)[],
  observer: Observations,
): void {
  const present = versions.filter((version) => version !== null);
  observer.revealed(node, partition, present);
}

function observeSettlement(
  { state, ts }: MessageOf<'SettleResp'>,
  { txId, attempt }: SettleReq,
  { node }: Address,
  observer: Observations,
): void {
  if (state === 'aborted') observer.aborted(node, txId, attempt);
  else if (state === 'committed') observer.committed(node, txId, null, ts);
}
