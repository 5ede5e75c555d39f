/** Two-phase commit with attempts (D2, D4), and what maps change in it (M6, M7, M8). */
import {
  type Attempt,
  attemptName,
  type Behind,
  type CoordinatedAttempt,
  type Entry,
  joined,
  type ModelNode,
  type Prepared,
  partitionsOf,
  type Result,
  sliceName,
} from './state.js';
import type { MessageOf, World } from './world.js';

/** How the client of an attempt learns its end. */
export interface Ends {
  decided(node: ModelNode, attempt: CoordinatedAttempt, result: Result): void;
  /** @param next the attempt that may follow */
  refused(node: ModelNode, attempt: CoordinatedAttempt, next: number): void;
}

export class Commits {
  constructor(
    readonly world: World,
    readonly ends: Ends,
  ) {}

  /** Sends an attempt to its cohorts. */
  begin(node: ModelNode, attempt: Attempt, above: number, by: number): CoordinatedAttempt {
    const coordinated = { ...attempt, above, by, proposals: {}, joined: [] };
    node.coordinated.set(attempt.tx, coordinated);
    const { tx, attempt: number, map, cohorts, behind, first } = attempt;
    const identity = { tx, attempt: number, map, cohorts, behind, first };
    for (const partition of partitionsOf(cohorts))
      this.world.send(node, cohorts[partition]!, { type: 'Prepare', partition, attempt: identity, above });
    return coordinated;
  }

  onPrepare(node: ModelNode, from: number, { partition, attempt, above }: MessageOf<'Prepare'>): void {
    const { world } = this;
    const { tx, attempt: number } = attempt;
    const name = sliceName(tx, partition);
    // M6: a node does not know outcomes for requests of a higher map.
    if (attempt.map > node.map) return;
    const known = this.#committed(node, partition, tx);
    if (known !== undefined) {
      world.send(node, from, { type: 'Known', tx, attempt: number, result: resultOf(known) });
      return;
    }
    const outcome = node.outcomes.get(name);
    if (outcome !== undefined && outcome.attempt >= number) {
      world.send(node, from, { type: 'Refused', tx, attempt: number, highest: outcome.attempt });
      return;
    }
    const prepared = node.prepared.get(name);
    if (prepared !== undefined && prepared.attempt >= number) {
      if (prepared.attempt === number) this.#propose(node, from, prepared);
      return;
    }
    // D4: the sender of a later attempt knows that the earlier attempts are refused.
    node.prepared.delete(name);
    // M7: no node decides a vote that was deferred.
    if (node.deferred.has(attemptName(tx, partition, number))) return;
    if (attempt.map < node.map) {
      node.outcomes.set(name, { attempt: number, isCommitted: false });
      world.send(node, from, { type: 'Refused', tx, attempt: number, highest: number });
      return;
    }
    if (!world.mayWrite(node)) return;
    node.clock = Math.max(node.clock, above) + 1;
    const slice = { ...attempt, partition, pt: node.clock };
    node.prepared.set(name, slice);
    // P11
    if (partitionsOf(attempt.cohorts).length === 1) this.#commit(node, slice, slice.pt, slice.behind);
    this.#propose(node, from, slice);
  }

  onPrepared(node: ModelNode, { tx, attempt, partition, pt, behind }: MessageOf<'Prepared'>): void {
    const coordinated = node.coordinated.get(tx);
    if (coordinated?.attempt !== attempt) return;
    coordinated.proposals[partition] = pt;
    coordinated.joined = joined(coordinated.joined, behind);
    const { proposals, cohorts, map, first } = coordinated;
    const partitions = partitionsOf(cohorts);
    if (partitions.some((one) => proposals[one] === undefined)) return;
    const ct = Math.max(...Object.values(proposals));
    const all = coordinated.joined;
    for (const one of partitions)
      this.world.send(node, cohorts[one]!, { type: 'Commit', tx, attempt, partition: one, ct, behind: all });
    this.#decided(node, coordinated, { tx, attempt, map, cohorts, behind: all, first: first ?? ct, ct });
  }

  onKnown(node: ModelNode, { tx, attempt, result }: MessageOf<'Known'>): void {
    const coordinated = node.coordinated.get(tx);
    if (coordinated?.attempt === attempt) this.#decided(node, coordinated, result);
  }

  onRefused(node: ModelNode, { tx, attempt, highest }: MessageOf<'Refused'>): void {
    const coordinated = node.coordinated.get(tx);
    if (coordinated?.attempt !== attempt) return;
    node.coordinated.delete(tx);
    this.ends.refused(node, coordinated, Math.max(highest, attempt) + 1);
  }

  onCommit(node: ModelNode, { tx, attempt, partition, ct, behind }: MessageOf<'Commit'>): void {
    const prepared = node.prepared.get(sliceName(tx, partition));
    if (prepared?.attempt === attempt) {
      this.#commit(node, prepared, ct, behind);
      return;
    }
    const deferred = node.deferred.get(attemptName(tx, partition, attempt));
    if (deferred === undefined || deferred.isCommitted) return;
    deferred.isCommitted = true;
    deferred.ct = ct;
    deferred.behind = joined(deferred.behind, behind);
  }

  /** Asks the other cohorts about all slices without a decision (D2). */
  resolve(node: ModelNode): void {
    for (const { tx, attempt, partition, cohorts, map } of node.prepared.values())
      for (const other of partitionsOf(cohorts)) {
        if (other === partition) continue;
        const request = { type: 'Resolve', tx, attempt, partition: other, of: partition, map } as const;
        this.world.send(node, cohorts[other]!, request);
      }
  }

  onResolve(node: ModelNode, from: number, { tx, attempt, partition, of, map }: MessageOf<'Resolve'>): void {
    const name = sliceName(tx, partition);
    const answer = (state: MessageOf<'Resolved'>['state'], ts = 0, behind: Behind = []) =>
      this.world.send(node, from, { type: 'Resolved', tx, attempt, partition, of, state, ts, behind });
    const committed = this.#committed(node, partition, tx);
    const prepared = node.prepared.get(name);
    if (committed?.attempt === attempt) answer('committed', committed.ct, committed.behind);
    else if (node.deferred.has(attemptName(tx, partition, attempt))) {
      if (!this.world.is('deferredIsSilent')) answer('deferred');
    } else if (prepared?.attempt === attempt) answer('prepared', prepared.pt, prepared.behind);
    else if (map <= node.map) {
      this.#abort(node, name, attempt);
      answer('aborted');
    }
  }

  onResolved(node: ModelNode, { tx, attempt, partition, of, state, ts, behind }: MessageOf<'Resolved'>): void {
    const name = sliceName(tx, of);
    const prepared = node.prepared.get(name);
    if (prepared?.attempt !== attempt) return;
    if (state === 'committed') this.#commit(node, prepared, ts, behind);
    else if (state === 'deferred') {
      // A map has deferred one slice: all slices of the transaction are, whatever their timestamps (M7).
      node.prepared.delete(name);
      this.defer(node, prepared, prepared.pt, false);
    } else if (state === 'aborted') {
      node.prepared.delete(name);
      this.#abort(node, name, attempt);
    } else {
      const about = attemptName(tx, of, attempt);
      const answers = node.answers.get(about) ?? { proposals: { [of]: prepared.pt }, behind: prepared.behind };
      answers.proposals[partition] = ts;
      answers.behind = joined(answers.behind, behind);
      node.answers.set(about, answers);
      if (partitionsOf(prepared.cohorts).every((one) => answers.proposals[one] !== undefined))
        this.#commit(node, prepared, Math.max(...Object.values(answers.proposals)), answers.behind);
    }
  }

  /** An attempt never commits, nor does any attempt before: answers about earlier attempts may come late (D4). */
  #abort(node: ModelNode, name: string, attempt: number): void {
    const outcome = node.outcomes.get(name);
    if (outcome === undefined || outcome.attempt < attempt) node.outcomes.set(name, { attempt, isCommitted: false });
  }

  /** Puts a slice into a record, where it holds nothing back. */
  defer(node: ModelNode, slice: Attempt & { readonly partition: number }, ts: number, isCommitted: boolean): void {
    const { tx, attempt, map, cohorts, behind, partition, first = ts } = slice;
    this.world.counts.deferred++;
    const deferred = { tx, attempt, map, cohorts, behind, partition, first, ct: ts, isCommitted };
    node.deferred.set(attemptName(tx, partition, attempt), deferred);
  }

  /** The committed slice of a transaction, applied or not. */
  #committed({ log, queue }: ModelNode, partition: number, tx: number): Entry | undefined {
    const isOf = (entry: Entry) => entry.tx === tx && entry.partition === partition;
    return log[partition]?.find(isOf) ?? queue.find(isOf);
  }

  #propose(node: ModelNode, to: number, { tx, attempt, partition, pt, behind }: Prepared): void {
    this.world.send(node, to, { type: 'Prepared', tx, attempt, partition, pt, behind });
  }

  #commit(node: ModelNode, { partition, pt: _, ...slice }: Prepared, ct: number, behind: Behind): void {
    const name = sliceName(slice.tx, partition);
    node.prepared.delete(name);
    const entry = { ...slice, partition, ct, behind, first: slice.first ?? ct, source: node.id };
    if (this.world.isDeferred(node, entry)) this.defer(node, entry, ct, true);
    else node.queue.push(entry);
    node.outcomes.set(name, { attempt: slice.attempt, isCommitted: true });
  }

  #decided(node: ModelNode, attempt: CoordinatedAttempt, result: Result): void {
    node.coordinated.delete(attempt.tx);
    this.ends.decided(node, attempt, result);
  }
}

export const resultOf = ({ tx, attempt, map, cohorts, behind, first, ct }: Entry): Result => ({
  tx,
  attempt,
  map,
  cohorts,
  behind,
  first,
  ct,
});
