/** Answers of nodes, for each protocol of transactions: mostly correct ones, and some that no correct node gives. */
import type { Random } from '@isochron/core';
import type { Timestamp } from '@isochron/core/ids';
import type { TransactionName } from '@isochron/protocols';
import type { SessionState } from '@isochron/protocols/kernel/transactions/session';
import type { Snapshot } from '@isochron/protocols/kernel/transactions/snapshots';
import { type Choice, drawChoice, drawId, drawKey, drawValue, REGIONS, type Times } from '../drawing.js';

/** The entries of a snapshot beside its timestamp. */
type Entries = readonly Timestamp[] | undefined;

interface Shapes {
  /** Of snapshots that transactions read and sessions have seen. */
  readonly snapshot: (ts: Timestamp) => readonly Choice<Entries>[];
  /** Of a commit's answer, beside its timestamp. */
  readonly commit: (ts: Timestamp) => readonly Choice<Entries>[];
}

export class World {
  readonly #random: Random;
  readonly #times: Times;
  readonly #shapes: Shapes;
  /** The region of the session. */
  #region = 0;
  /** The session's last write: mistakes are likely at exactly this time. */
  #written: Timestamp = 0;

  constructor(protocol: TransactionName, random: Random, times: Times) {
    this.#random = random;
    this.#times = times;
    this.#shapes = this.#shapesOf(protocol);
  }

  /** Sometimes moves the session to another region. */
  roam(): void {
    if (this.#random.chance(0.03)) this.#region = this.#random.below(REGIONS.length);
  }

  /** The snapshot that a node assigns to a session that has seen this much; sometimes an older one, which is wrong. */
  assigned(seen: Timestamp): Snapshot {
    const ts = drawChoice(this.#random, [
      { weight: 40, of: Math.max(seen, this.#times.lagging()) },
      { weight: 6, of: seen },
      { weight: 2, of: this.#times.any() },
      { weight: 1, of: this.#times.now },
      { weight: 2, of: Math.max(seen, this.#written) },
    ]);
    return this.#withEntries(ts, this.#shapes.snapshot(ts));
  }

  /** The snapshot of a `welcome`, or of another session. */
  told(): Snapshot {
    const ts = this.#random.chance(0.9) ? this.#times.lagging() : this.#times.any();
    return this.#withEntries(ts, this.#shapes.snapshot(ts));
  }

  /** The outcome of a commit: above all times so far, except for some of a node with a bad clock. */
  committed(): Snapshot {
    const ts = this.#random.chance(0.85) ? this.#times.next() : this.#times.any();
    this.#written = ts;
    return this.#withEntries(ts, this.#shapes.commit(ts));
  }

  /** The state of a session that has written elsewhere. */
  brought(): SessionState {
    const { ts, deps } = this.told();
    const cache = Array.from(
      { length: 1 + this.#random.below(5) },
      () => [drawKey(this.#random), this.#cached()] as const,
    );
    return { ust: ts, deps, hwt: this.#written, cache };
  }

  #cached(): SessionState['cache'][number][1] {
    this.#written = this.#times.next();
    return { ct: this.#written, txId: `${drawId(this.#random)}.0`, value: drawValue(this.#random) };
  }

  stable(): Timestamp {
    if (this.#random.chance(0.05)) return this.#written;
    return this.#random.chance(0.95) ? this.#times.lagging() : this.#times.any();
  }

  #withEntries(ts: Timestamp, choices: readonly Choice<Entries>[]): Snapshot {
    const deps = drawChoice(this.#random, choices);
    return deps === undefined ? { ts } : { ts, deps };
  }

  #shapesOf(protocol: TransactionName): Shapes {
    if (protocol === 'wren') return this.#wren();
    return protocol === 'cure' || protocol === 'h-cure' ? this.#vectors() : this.#timestamps();
  }

  /** One timestamp. Entries beside it have no meaning, in correct or wrong answers. */
  #timestamps(): Shapes {
    const shapes = () => [
      { weight: 18, of: undefined },
      { weight: 1, of: [] },
      { weight: 1, of: [this.#times.any()] },
    ];
    return { snapshot: shapes, commit: shapes };
  }

  /** `[rt, place, hwt]`; a commit's `[its own, home]`, or a snapshot if it wrote no key. */
  #wren(): Shapes {
    const place = () => (this.#random.chance(0.93) ? this.#region + 1 : this.#random.below(REGIONS.length + 1));
    const remote = (ts: Timestamp) => (this.#random.chance(0.85) ? Math.min(ts, this.#times.recent()) : ts);
    return {
      snapshot: (ts) => [
        { weight: 14, of: [remote(ts), place(), 0] },
        { weight: 3, of: [remote(ts), place(), this.#times.recent()] },
        { weight: 1, of: [this.#times.now, place(), 0] },
        { weight: 2, of: [this.#times.any(), 0, 0] },
        { weight: 1, of: undefined },
        { weight: 1, of: drawChoice(this.#random, this.#odd(place())) },
      ],
      commit: (ts) => [
        { weight: 10, of: [ts, place()] },
        { weight: 3, of: [remote(ts), place(), this.#times.recent()] },
        { weight: 3, of: [ts] },
        { weight: 2, of: undefined },
        { weight: 2, of: drawChoice(this.#random, this.#odd(place())) },
      ],
    };
  }

  /** Of lengths that no Wren node uses. */
  #odd(place: number): Choice<Entries>[] {
    const any = () => this.#times.any();
    return [[], [any()], [any(), place], [any(), place, any(), any()]].map((of) => ({ weight: 1, of }));
  }

  /** One entry for each region, the highest of which is the timestamp. */
  #vectors(): Shapes {
    const vector = (length: number, ts: Timestamp) => {
      const entries = Array.from({ length }, () => Math.min(ts, this.#times.any()));
      if (length > 0) entries[Math.min(this.#region, length - 1)] = ts;
      return entries;
    };
    const shapes = (ts: Timestamp) => [
      { weight: 16, of: vector(REGIONS.length, ts) },
      { weight: 2, of: undefined },
      { weight: 1, of: [ts, ts, ts] },
      { weight: 2, of: vector(this.#random.below(6), ts) },
    ];
    return { snapshot: shapes, commit: shapes };
  }
}
