/** What the messages of single operations say, in the words of the checks. */
import type { Deps, PartitionId, Topology, Version } from '@isochron/core';
import type { Address, OperationMessage, PutSliceReq, RotSliceReq, SettleReq } from '@isochron/protocols';
import type { Observations } from '../../checks/observations.js';
import { saidOfReplication } from '../kernel.js';
import type { SimulatedComplete, SimulatedSeen, SimulatedSnapshots } from './simulated.js';

type Said<T extends OperationMessage['type']> = Extract<OperationMessage, { type: T }>;

/** Answers name their question by a reference alone. So what a message answers is kept beside it, until it leaves. */
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

  /** Promises, at the moment at which somebody else may hear them. */
  said(message: OperationMessage, from: Address, to: Address, tell: Observations, topology: Topology): void {
    this.#complete(message, from, tell, topology);
    switch (message.type) {
      case 'Heartbeat':
      case 'Heartbeats':
      case 'Replicate':
      case 'GossipDown':
        saidOfReplication(message, from, to, tell);
        break;
      case 'GetSliceReq':
      case 'RotSliceReq':
        tell.asked(message);
        this.#chosen(message, from, tell);
        break;
      case 'WaitedSlice':
        if (message.request.type !== 'PutSliceReq') tell.waited(from.node, message.request.partition, message.request);
        break;
      case 'PutResp':
        tell.committed(from.node, message.txId, null, message.ts);
        break;
      default: {
        const question = this.#questions.get(message);
        if (question !== undefined) this.#answered(message, question, from, tell, topology);
      }
    }
  }

  #complete(message: OperationMessage, { node }: Address, tell: Observations, topology: Topology): void {
    const writes = this.complete?.(message, this.#questions.get(message), topology);
    if (writes !== undefined) tell.complete(node, writes.partition, writes.region, writes.upTo);
  }

  #answered(
    message: OperationMessage,
    question: OperationMessage,
    from: Address,
    tell: Observations,
    topology: Topology,
  ): void {
    if (message.type === 'GetSliceResp' && question.type === 'GetSliceReq')
      this.#saidOfGet(message, question, from, tell, topology);
    else if (message.type === 'RotSliceResp' && question.type === 'RotSliceReq')
      this.#saidOfSnapshot(message, question, from, tell, topology);
    else if (message.type === 'SettleResp' && question.type === 'SettleReq')
      saidOfSettlement(message, question, from, tell);
    else if (question.type === 'PutSliceReq') this.#saidOfPut(message, question, from, tell, topology);
    else if (message.type === 'SnapResp' && question.type === 'SnapReq')
      this.#covers(question.seen, message.snapshot, from, tell);
  }

  /** Where the client's node chooses, what it asks for shows what it has chosen. */
  #chosen(message: Said<'GetSliceReq' | 'RotSliceReq'>, from: Address, tell: Observations): void {
    const question = this.#questions.get(message);
    if (message.type === 'RotSliceReq' && question?.type === 'RotReq')
      this.#covers(question.seen, message.snapshot, from, tell);
  }

  #covers(seen: Deps, snapshot: Deps, { node }: Address, tell: Observations): void {
    if (this.seen === undefined || seen.length === 0) return;
    tell.chosen(node, `${snapshot} for ${seen}`, this.seen.inSnapshot(seen, snapshot));
  }

  #saidOfGet(
    { version, seen }: Said<'GetSliceResp'>,
    { partition, key }: Said<'GetSliceReq'>,
    from: Address,
    tell: Observations,
    topology: Topology,
  ): void {
    shown(from, partition, [version], tell);
    const region = topology.regionOf(from.node);
    const knows = (one: Version) => this.seen?.hasVersion(seen, one, region, topology) ?? true;
    if (version !== null) tell.learned(from.node, version.txId, key, knows);
  }

  #saidOfPut(
    message: OperationMessage,
    { txId, attempt, seen }: PutSliceReq,
    { node }: Address,
    tell: Observations,
    topology: Topology,
  ): void {
    if (message.type === 'PutSliceResp') {
      const region = topology.regionOf(node);
      tell.committed(node, txId, null, message.ts);
      if (seen.length > 0) tell.stamped(node, txId, (one) => this.seen?.inVersion(seen, one, region, topology) ?? true);
    } else if (message.type === 'Refused' && message.code === 'TRANSACTION_ABORTED') tell.aborted(node, txId, attempt);
  }

  #saidOfSnapshot(
    { versions }: Said<'RotSliceResp'>,
    { partition, snapshot, keys }: RotSliceReq,
    from: Address,
    tell: Observations,
    topology: Topology,
  ): void {
    shown(from, partition, versions, tell);
    const { snapshots } = this;
    if (snapshots === undefined) return;
    const { node } = from;
    const region = topology.regionOf(node);
    tell.slice(node, partition, snapshots.snapshot(snapshot, region, topology), keys, versions);
    const closed = snapshots.closes(snapshot, region, topology);
    if (closed > 0) tell.published(node, partition, closed);
  }
}

function shown(
  { node }: Address,
  partition: PartitionId,
  versions: readonly (Version | null)[],
  tell: Observations,
): void {
  const present = versions.filter((version) => version !== null);
  tell.revealed(node, partition, present);
}

function saidOfSettlement(
  { state, ts }: Said<'SettleResp'>,
  { txId, attempt }: SettleReq,
  { node }: Address,
  tell: Observations,
): void {
  if (state === 'aborted') tell.aborted(node, txId, attempt);
  else if (state === 'committed') tell.committed(node, txId, null, ts);
}
