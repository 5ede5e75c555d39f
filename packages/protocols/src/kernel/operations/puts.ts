/**
 * A replica's PUTs: timestamp, version, log and outcome in one step and one batch; answered when that is on disk (D1).
 * A repeated PUT finds the outcome of the first (D4, D5).
 */
import {
  type LoggedTx,
  MAX_TIMESTAMP,
  type OutcomeRecord,
  type PartitionId,
  type Timestamp,
  type WallMs,
} from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { HostedPartition } from '../hosted-partition.js';
import { type NodeState, takesNoWrites } from '../node-state.js';
import type { Outcomes } from '../outcomes.js';
import type { Replication } from '../replication/replication.js';
import { digestWrites } from '../transactions/digest.js';
import { unremembered } from '../transactions/refusals.js';
import type { Refusal } from '../transactions/snapshots.js';
import type { OperationMessage, PutSliceReq, SettleReq, SettleResp } from './messages.js';
import type { OperationRules } from './protocol.js';
import type { Versions } from './versions.js';

type Out = Effects<OperationMessage>;

export class Puts {
  readonly counters = { puts: 0, repeats: 0, refusedPuts: 0, settled: 0, ignored: 0 };
  readonly partition: PartitionId;
  readonly state: NodeState;
  readonly replication: Replication;
  /** How the PUTs of the partition ended (D4, D5). */
  readonly outcomes: Outcomes;

  constructor(
    { partition, state, replication, outcomes }: HostedPartition,
    readonly versions: Versions,
    readonly rules: OperationRules,
  ) {
    this.partition = partition;
    this.state = state;
    this.replication = replication;
    this.outcomes = outcomes;
  }

  /**
   * How long a PUT that would be written here has to wait for a clock that cannot be moved ahead. Undefined when it
   * need not wait.
   */
  notBefore(request: PutSliceReq, now: WallMs): WallMs | undefined {
    const { sentAfter, seen } = request;
    const at = this.state.clock.readyAt(Math.max(this.rules.floor(seen), sentAfter));
    return at > now && this.writes(request, now) ? at : undefined;
  }

  /** Whether it is new, and has no reason to be refused. */
  writes(request: PutSliceReq, now: WallMs): boolean {
    return (
      this.outcomes.get(request.txId, request.sentAfter) === undefined && this.#refusal(request, now) === undefined
    );
  }

  /** Writes the version, or answers with the outcome of an earlier attempt. */
  put(request: PutSliceReq, now: WallMs, from: Address, out: Out): void {
    const { txId, attempt, sentAfter } = request;
    const known = this.outcomes.get(txId, sentAfter);
    if (known?.status === 'committed') {
      this.#repeat(request, known, from, out);
      return;
    }
    if (known !== undefined && known.attempt >= attempt) {
      this.#refuse(request, ABORTED, from, out);
      return;
    }
    if (!this.state.membership.accepts) {
      this.counters.ignored++; // it may continue elsewhere, or be sent again
      return;
    }
    const refusal = this.#refusal(request, now);
    if (refusal === undefined) this.#write(request, now, from, out);
    else {
      this.#refuse(request, refusal, from, out);
      // A PUT that was refused for good must never happen later.
      if (!/^OUTCOME_/.test(refusal.code)) this.outcomes.tombstone(txId, attempt, now, out);
    }
  }

  /** D4: after this, an attempt has happened or never will; answered when that is durable. */
  settle({ ref, txId, attempt, sentAfter }: SettleReq, now: WallMs, from: Address, out: Out): void {
    this.counters.settled++;
    const known = this.outcomes.get(txId, 0);
    const answer = (state: SettleResp['state'], ts: Timestamp) =>
      out.sendAfterPersist(from, { type: 'SettleResp', ref, state, ts });
    if (known?.status === 'committed') answer('committed', known.ts);
    // The answer is never *aborted* if the outcome was dropped (D5), or possibly known to a lost disk.
    else if (known === undefined && sentAfter < this.outcomes.rememberedFrom) answer('lost', 0);
    else {
      if (known === undefined || known.attempt < attempt) this.outcomes.tombstone(txId, attempt, now, out);
      answer('aborted', 0);
    }
  }

  #write(request: PutSliceReq, now: WallMs, from: Address, out: Out): void {
    const { ref, txId, attempt, sentAfter, seen, key, value, depends } = request;
    const ts = this.state.clock.propose(now, Math.max(this.rules.floor(seen), sentAfter), out);
    const { deps, sent } = this.rules.stamp(seen, ts, () => this.versions.at(key, MAX_TIMESTAMP));
    const writes = [{ key, value }];
    const tx: LoggedTx = { txId, writes, deps: sent, depends };
    const outcome = { attempt, digest: digestOf(request) };
    this.counters.puts++;
    this.replication.apply(ts, [{ tx, localDeps: deps === sent ? undefined : deps, outcome }], out);
    this.replication.publish(ts, true, out);
    out.sendAfterPersist(from, { type: 'PutSliceResp', ref, ts });
  }

  #repeat(request: PutSliceReq, { ts, digest }: OutcomeRecord, from: Address, out: Out): void {
    this.counters.repeats++;
    // An outcome that was found among copied versions has no digest (D10).
    if (digest !== null && digest !== '' && digest !== digestOf(request)) this.#refuse(request, REUSED, from, out);
    else out.sendAfterPersist(from, { type: 'PutSliceResp', ref: request.ref, ts });
  }

  #refusal({ seen, sentAfter }: PutSliceReq, now: WallMs): Refusal | undefined {
    const { settings, clock, node } = this.state;
    if (sentAfter < this.outcomes.rememberedFrom) return unremembered(sentAfter, now, this.state);
    const full = this.state.writable();
    if (full !== undefined) return { code: full, detail: takesNoWrites(node, full) };
    if (clock.problem !== undefined) {
      return { code: 'CLOCK_DRIFT', detail: `${node} takes no writes now: ${clock.problem}.` };
    }
    if (Math.max(this.rules.newest(seen), sentAfter) > clock.latest(now, settings.maxClockDriftMs)) {
      return { code: 'TIMESTAMP_IN_FUTURE', detail: 'The session has seen a timestamp from the future.' };
    }
    return undefined;
  }

  #refuse({ ref }: PutSliceReq, { code, detail }: Refusal, from: Address, out: Out): void {
    this.counters.refusedPuts++;
    out.sendAfterPersist(from, { type: 'Refused', ref, code, detail });
  }
}

const digestOf = ({ key, value, principal }: PutSliceReq): string => digestWrites([{ key, value }], principal);

const ABORTED: Refusal = {
  code: 'TRANSACTION_ABORTED',
  detail: 'This attempt was given up before; write again under a new id.',
};
const REUSED: Refusal = { code: 'TX_ID_REUSED', detail: 'The id was used for another write; make a new one.' };
