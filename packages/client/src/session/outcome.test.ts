import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMMIT_MOVES, type CommitState, OutcomeExchange } from './outcome.js';
import type { ClientParts } from './parts.js';

/** The parts of a write's state. */
const PARTS = {
  effect: ['chained', 'sent', 'inDoubt', 'held', 'heldInDoubt'],
  order: ['ordered', 'orphaned'],
  audience: ['awaited', 'overdue', 'detached'],
} as const;
type Part = keyof typeof PARTS;

class Write extends OutcomeExchange {
  readonly attempt = { txId: 'c1.1', sentAfter: 0 };

  constructor() {
    super({} as ClientParts, () => {});
  }

  frame(): never {
    throw new TypeError('is not sent');
  }

  answered(): void {}

  protected gaveUp(): void {}
}

/** The states on the way from the first state of a part to a state. */
function wayTo(part: Part, state: CommitState): readonly CommitState[] {
  const ways: CommitState[][] = [[PARTS[part][0]]];
  for (const way of ways) {
    if (way.at(-1) === state) return way.slice(1);
    for (const next of COMMIT_MOVES[way.at(-1)!]) if (!way.includes(next)) ways.push([...way, next]);
  }
  throw new TypeError(`no way to ${state}`);
}

/** The moves of the table in the header of `outcome.ts`. */
function headerMoves(): string[] {
  const lines = readFileSync(join(__dirname, 'outcome.ts'), 'utf8').split('\n');
  const rows = lines.filter((line) => line.startsWith(' * | ')).map((line) => line.split('|').slice(1, -1));
  let from = '';
  return rows.slice(2).flatMap((cells) => {
    from = cells[0]!.replaceAll('`', '').trim() || from;
    const to = cells.at(-1)!.trim();
    return to === '' ? [] : [`${from} ${to}`];
  });
}

const MOVES = Object.entries(COMMIT_MOVES).flatMap(([from, all]) => all.map((to) => `${from} ${to}`));
const UNLISTED = (Object.keys(PARTS) as Part[]).flatMap((part) =>
  PARTS[part].flatMap((from) =>
    PARTS[part].filter((to) => !COMMIT_MOVES[from].includes(to)).map((to) => ({ part, from, to })),
  ),
);

describe('the states of a write', () => {
  it('a write that is settled does not move any more', () => {
    const write = new Write();
    write.failed('refused');
    expect(() => write.move('sent')).toThrow(new TypeError('sent'));
  });

  it('the states of a write move as the table in the header of outcome.ts lists it', () => {
    expect(headerMoves().sort()).toEqual(MOVES.sort());
  });

  it.each(UNLISTED)('a write does not go from $from to $to, which the table does not list', ({ part, from, to }) => {
    const write = new Write();
    for (const state of wayTo(part, from)) write.move(state);
    expect(() => write.move(to)).toThrow(new TypeError(to));
    expect(write.states).toContain(from);
  });
});
