import type { KeyWrite } from '@isochron/core';
import { SIMULATION_START_MS } from '@isochron/simulated-world/wall-clock';
import { CheckBench, TOPOLOGY } from '../fixtures.js';
import { type Board, WritesArePermitted } from './permitted.js';

const BOARD = 'default/boards/1';
const ENTRY: KeyWrite = { key: 'default/entries/1/x', value: '{}' };
const BID: KeyWrite = { key: 'default/bids/x', value: '{}' };
const boardOf = (over: Partial<Board> = {}): KeyWrite => ({
  key: BOARD,
  value: JSON.stringify({ by: 'ann', writers: ['ann', 'bob'], dismissed: [], ...over }),
});
const DISMISSED = boardOf({ writers: ['ann'], dismissed: ['bob'] });

class PermittedBench extends CheckBench {
  stable = 100;
  clockMs = 0;
  readonly check = new WritesArePermitted(
    this.context,
    this.ledger,
    { closesMs: 1_000, sessions: [] },
    { stable: () => this.stable, lowestClock: () => SIMULATION_START_MS + this.clockMs },
  );

  /** A board is committed, and durable on these nodes. */
  board(txId: string, ct: number, write: KeyWrite, ...nodes: string[]): void {
    this.commit(txId, ct, [write]);
    for (const node of nodes) this.apply(node, txId, ct, [write]);
  }

  /** A replica reads the board for anyone. */
  reads(node: string): void {
    this.check.slice(node, TOPOLOGY.partitionOf(BOARD), { ts: 0 }, [BOARD]);
  }

  /** The transaction of a principal takes effect, after reads of the board on these nodes. */
  writes(principal: string, writes: readonly KeyWrite[], ...nodes: string[]): void {
    this.check.boardWrites(principal, 'tx', writes);
    for (const node of nodes) this.reads(node);
    this.commit('tx', 50, writes);
  }
}

/** The number of failures after some events. */
function failuresOf(events: (bench: PermittedBench) => void): number {
  const bench = new PermittedBench();
  events(bench);
  return bench.failed.length;
}

const bothHave = (bench: PermittedBench) => bench.board('made', 10, boardOf(), 'p-1', 'q-1');

describe('writes of sessions with boards', () => {
  it('only a writer of the board may enter something (AR8)', () => {
    const entersAs = (principal: string) => (bench: PermittedBench) => {
      bothHave(bench);
      bench.writes(principal, [ENTRY], 'p-1');
    };
    expect([failuresOf(entersAs('bob')), failuresOf(entersAs('cid'))]).toEqual([0, 1]);
  });

  it('a writer whom every replica that was read has as dismissed must not have entered anything (AR8)', () => {
    const after = (...nodes: string[]) =>
      failuresOf((bench) => {
        bothHave(bench);
        bench.board('dismissal', 20, DISMISSED, 'p-1');
        bench.writes('bob', [ENTRY], ...nodes);
      });
    // The other replica lacks the dismissal: that is the window.
    expect([after('p-1'), after('p-1', 'q-1'), after()]).toEqual([1, 0, 0]);
  });

  it('what no document up to the stable time permits must not take effect (AR8)', () => {
    const withStable = (stable: number) =>
      failuresOf((bench) => {
        bench.board('made', 10, DISMISSED, 'p-1', 'q-1');
        bench.board('admission', 20, boardOf(), 'p-1', 'q-1');
        bench.stable = stable;
        bench.writes('bob', [ENTRY], 'p-1');
      });
    expect([withStable(19), withStable(20)]).toEqual([1, 0]);
  });

  it('a board is not founded over one of another (AR8), and a founder enters something at once (AR9)', () => {
    const founds = (principal: string, isThere: boolean) =>
      failuresOf((bench) => {
        if (isThere) bothHave(bench);
        bench.writes(principal, [boardOf({ by: principal, writers: [principal] }), ENTRY], 'p-1');
      });
    expect([founds('cid', false), founds('cid', true)]).toEqual([0, 1]);
  });

  it('a bid must not take effect that was made after the end by all clocks, unless clocks were moved (AR8)', () => {
    const bidsAt = (clockMs: number, movesClocks = false) =>
      failuresOf((bench) => {
        if (movesClocks) bench.check.fault({ kind: 'clockJump', atMs: 0, forMs: 1 });
        bench.clockMs = clockMs;
        bench.writes('cid', [BID]);
      });
    expect([bidsAt(999), bidsAt(1_000), bidsAt(1_000, true)]).toEqual([0, 1, 0]);
  });

  it('the founding of a new board must not be refused (AR9)', () => {
    const refusedWhere = (isThere: boolean) =>
      failuresOf((bench) => {
        if (isThere) bothHave(bench);
        bench.check.foundingRefused('s', BOARD);
        bench.check.converged();
      });
    expect([refusedWhere(false), refusedWhere(true)]).toEqual([1, 0]);
  });

  it('after the loss of a disk nothing is certain', () => {
    expect(
      failuresOf((bench) => {
        bothHave(bench);
        bench.check.onDataLoss();
        bench.writes('cid', [ENTRY], 'p-1');
      }),
    ).toBe(0);
  });
});
