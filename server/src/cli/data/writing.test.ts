import { IsochronError } from '@isochron/core/errors';
import type { Row, RowSink } from './rows.js';
import { type Writer, writeAll } from './writing.js';

async function* rowsUpTo(total: number): AsyncGenerator<Row> {
  for (let i = 0; i < total; i++) yield { key: `k${i}`, document: i };
}

/** Writers that record commits; transactions whose first key is `failing` are refused. */
function writersOf(count: number, failing?: string): { writers: Writer[]; committed: string[] } {
  const committed: string[] = [];
  const transaction: Writer['transaction'] = async (run) => {
    const keys: string[] = [];
    const sink: RowSink = { set: (key) => keys.push(key), delete: (key) => keys.push(key) };
    run(sink);
    await Promise.resolve();
    if (keys[0] === failing) throw new IsochronError('CONNECTION_LOST', 'The connection broke.');
    committed.push(...keys);
    return { write: undefined };
  };
  return { writers: Array.from({ length: count }, () => ({ transaction })), committed };
}

const optionsOf = (more: object = {}) => ({
  batch: 10,
  skip: 0,
  signal: new AbortController().signal,
  onProgress: () => undefined,
  ...more,
});

describe('writeAll', () => {
  it('writeAll writes every row once, the last transaction with the remaining rows', async () => {
    const { writers, committed } = writersOf(3);
    expect(await writeAll(rowsUpTo(25), writers, optionsOf())).toMatchObject({ rows: 25, transactions: 3 });
    expect(new Set(committed).size).toBe(25);
  });

  it('writeAll passes over the rows that are skipped', async () => {
    const { writers, committed } = writersOf(1);
    await writeAll(rowsUpTo(25), writers, optionsOf({ skip: 20 }));
    expect(committed).toEqual(['k20', 'k21', 'k22', 'k23', 'k24']);
  });

  it('writeAll reports after a failure how many rows are acknowledged, and where to continue', async () => {
    const { writers } = writersOf(1, 'k30');
    await expect(writeAll(rowsUpTo(100), writers, optionsOf())).rejects.toMatchObject({
      code: 'CONNECTION_LOST',
      message: 'The connection broke (30 rows are acknowledged; to go on, repeat with --skip 30)',
    });
  });

  it('writeAll continues at the first row that is not acknowledged, although later ones are', async () => {
    const { writers, committed } = writersOf(3, 'k10');
    const failure = writeAll(rowsUpTo(100), writers, optionsOf());
    await expect(failure).rejects.toThrow('repeat with --skip 10)');
    expect(committed).toContain('k20');
  });

  it('writeAll runs a transaction again that the crash of a node aborted', async () => {
    const { writers, committed } = writersOf(1);
    let aborts = 4;
    const flaky: Writer = {
      transaction: (run) => {
        if (aborts-- > 0) throw new IsochronError('TRANSACTION_ABORTED', 'aborted');
        return writers[0]!.transaction(run);
      },
    };
    expect(await writeAll(rowsUpTo(20), [flaky], optionsOf())).toMatchObject({ rows: 20, transactions: 2 });
    expect(committed).toHaveLength(20);
  });

  it('writeAll takes no more rows once it is interrupted', async () => {
    const stopping = new AbortController();
    const { writers, committed } = writersOf(1);
    const onProgress = (rows: number): void => {
      if (rows === 20) stopping.abort();
    };
    const writing = writeAll(rowsUpTo(100), writers, optionsOf({ signal: stopping.signal, onProgress }));
    await expect(writing).rejects.toThrow('interrupted: 20 rows are acknowledged; to go on, repeat with --skip 20');
    expect(committed).toHaveLength(20);
  });
});
