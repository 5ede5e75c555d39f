import type { Labels } from '../explanation/labels.js';
import type { Findings } from '../explanation/violations.js';
import { type FinalValue, HistoryError, quote, type ReplicaState } from '../input/history.js';
import type { IndexedHistory } from '../input/indexed-history.js';

interface Holding {
  readonly replica: string;
  readonly value: string | null;
}

/** The final values of the replicas. */
export class FinalStates {
  readonly #holdings = new Map<string, Holding[]>();
  readonly #replicas = new Set<string>();
  /** Line of the first of them in the file. */
  #line = 0;

  /** Number of replicas. */
  get replicas(): number {
    return this.#replicas.size;
  }

  /** Whether some key is held by two replicas, so that they can differ. */
  get isReplicated(): boolean {
    return [...this.#holdings.values()].some((holdings) => holdings.length > 1);
  }

  /**
   * Takes the next line.
   * @throws HistoryError when a replica names a key twice
   */
  add({ replica, final }: ReplicaState, line: number): void {
    if (this.#line === 0) this.#line = line;
    this.#replicas.add(replica);
    for (const { k, v } of final) {
      const holdings = this.#holdings.get(k);
      if (holdings === undefined) this.#holdings.set(k, [{ replica, value: v }]);
      else if (!holdings.some((held) => held.replica === replica)) holdings.push({ replica, value: v });
      else throw new HistoryError(line, `replica ${quote(replica)} names key ${quote(k)} twice`);
    }
  }

  /** Adds to the history the values on which the replicas agree; for any other key, the value of the first of them. */
  appendTo(history: IndexedHistory): void {
    if (this.replicas === 0) return;
    const values = Array.from(this.#holdings, ([k, [held]]): FinalValue => ({ k, v: held!.value }));
    history.addFinalState(values, this.#line);
  }

  /** Whether replicas agree. */
  judge(history: IndexedHistory, labels: Labels, findings: Findings): void {
    for (const [key, holdings] of this.#holdings) {
      const values = new Set(holdings.map(({ value }) => value));
      if (values.size < 2) continue;
      findings.add(['convergence'], () => {
        const held = holdings.map((one) => `${quote(one.replica).slice(1, -1)} holds ${quoteValue(one.value)}`);
        const id = history.keyNumber(key);
        const writes = [...values].flatMap((value) => history.writerOf[id]!.get(value ?? '') ?? []);
        const writers = [...new Set(writes.map((op) => history.opTx.at(op)))];
        const message = `The replicas of ${quote(key)} differ: ${held.join(', ')}.`;
        return labels.local('divergent-replicas', id, message, ...writers);
      });
    }
  }
}

const quoteValue = (value: string | null): string => (value === null ? 'null' : quote(value));
