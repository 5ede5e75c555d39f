import type { AppliedRecord, DurableRecord } from '@isochron/core';
import {
  collect,
  dependent,
  ended,
  logged,
  outcomeAt,
  P,
  prepared,
  put,
  received,
  remove,
  v,
} from '@isochron/testing/storage/suite-fixtures';
import fc from 'fast-check';
import { Packr } from 'msgpackr';
import { CorruptRecord } from '../failure.js';
import { LogRecords } from './log-records.js';

const packr = new Packr({ useRecords: false });
const WRITES = [
  { key: 'a', value: `"${'x'.repeat(500)}"` },
  { key: 'b', value: null },
  { key: 'c', value: Uint8Array.of(1, 2, 255) },
];
const prepare: DurableRecord = { kind: 'prepared', partition: P, txId: 't', record: { ...prepared, writes: WRITES } };
const unprepare: DurableRecord = { kind: 'prepared', partition: P, txId: 't', record: null };
const own: AppliedRecord = {
  kind: 'applied',
  partition: P,
  ct: 9,
  tx: { txId: 't', writes: WRITES, siblings: [4] },
  region: 'r',
  log: 'own',
};
const NEEDS = [{ node: 2 }, { node: 0, ct: 7 }, { ct: 8 }];
/** The end of the prepare. */
const end: AppliedRecord = { ...own, outcome: { attempt: 1, digest: prepared.digest }, prepared: true };

const EVERYTHING: readonly DurableRecord[] = [
  put('a', v(5)),
  put('a', v(6, null)),
  put('bytes', v(7, Uint8Array.of(0, 200))),
  put('a', dependent(8, [1, 2])),
  remove('a', 5),
  prepare,
  unprepare,
  prepare,
  end,
  own,
  { ...own, outcome: { attempt: 0, digest: null } },
  { ...own, tx: { ...own.tx, deps: [3, 4] }, localDeps: [1, 2] },
  { ...own, log: 'none', localDeps: [7] },
  { ...own, tx: { ...own.tx, needs: NEEDS, attempt: 1 } },
  { ...prepare, record: { ...prepared, needs: NEEDS } },
  { ...end, tx: { ...end.tx, writes: prepared.writes, needs: NEEDS } },
  { kind: 'prepared', partition: P, txId: 'decided', record: { ...prepared, ct: 80 } },
  ended('other', outcomeAt(5)),
  logged(5),
  received(6),
  { kind: 'horizon', partition: P, horizon: 'logConfirmedUpTo', upTo: 5 },
  { kind: 'horizon', partition: P, horizon: 'logTruncatedUpTo', upTo: 5 },
  { kind: 'horizon', partition: P, horizon: 'logTruncatedUpTo', upTo: 5, bytes: 2 ** 40 },
  collect(3),
  { kind: 'horizon', partition: P, horizon: 'forgottenUpTo', upTo: 4 },
  { kind: 'meta', name: 'vv/3', value: { virginia: 5 } },
  { kind: 'meta', name: 'ceiling', value: 5 },
];

/** The batches as they are read from the log. */
function throughLog(batches: readonly (readonly DurableRecord[])[]): DurableRecord[][] {
  const [writer, reader] = [new LogRecords(), new LogRecords()];
  return batches.map((batch) => reader.unpack(writer.pack(batch)));
}

const damageOf = (bytes: Uint8Array): unknown => {
  try {
    return new LogRecords().unpack(bytes);
  } catch (error) {
    return error;
  }
};

describe('batches as records of the log', () => {
  it('batches in the log are read as they were written, whatever records are in them', () => {
    expect(throughLog([EVERYTHING, [], EVERYTHING])).toEqual([EVERYTHING, [], EVERYTHING]);
  });

  it('batches in the log hold each value of a transaction once, from its prepare to its end', () => {
    const writer = new LogRecords();
    const batches = [[prepare], [end]];
    const sizes = batches.map((batch) => writer.pack(batch).length);
    expect(sizes[0]).toBeGreaterThan(500);
    expect(sizes[1]).toBeLessThan(30);
    expect(throughLog(batches)).toEqual(batches);
  });

  it('batches in the log are read from behind the prepare on, given the transactions that were prepared there', () => {
    const writer = new LogRecords();
    writer.pack([prepare]);
    const packed = writer.pack([end]);
    const reader = new LogRecords();
    reader.prepared(P, 't', { ...prepared, writes: WRITES });
    expect(reader.unpack(packed)).toEqual([end]);
    expect(damageOf(packed)).toMatchObject({ damage: 'malformed' });
  });

  it('batches in the log end a prepare once, and only as it was prepared', () => {
    const writer = new LogRecords();
    writer.pack([prepare]);
    expect(() => writer.pack([{ ...end, outcome: { attempt: 1, digest: 'other' } }])).toThrow();
    writer.pack([prepare, end]);
    expect(() => writer.pack([end])).toThrow();
  });

  it('batches in the log are refused in an unknown format', () => {
    for (const format of [1, 2, 3])
      expect(damageOf(packr.pack([format]))).toMatchObject({ code: 'STORAGE_FORMAT', damage: 'version' });
  });

  it.each([
    [null],
    [[]],
    [[4, 5]],
    [[4, [99]]],
    [[4, [0, P, 'a', 5, 't', 'r']]],
    [[4, [0, -1, 'a', 5, 't', 'r', '1']]],
    [[4, [0, 36 ** 4, 'a', 5, 't', 'r', '1']]],
    [[4, [0, P, 'a', 5, 't', 'r', '1', 6, 't', 'r', '2']]],
    [[4, [1, P, 'a', 'b', 't']]],
    [[4, [2, P, 0, null]]],
    [[4, [4, P, 5, 't', [], 'r', 3, null]]],
    [[4, [4, P, 5, 't', [], 'r', 0, ['a', 'd']]]],
    [[4, [4, P, 5, 't', [], 'r', 0, null, ['a']]]],
    [[4, [4, P, 5, 't', [['a', 7]], 'r', 0, null]]],
    [[4, [5, P, 5, 't', [], 'r']]],
    [[4, [4, P, 5, 't', [false, [[-1]]], 'r', 0, null]]],
    [[4, [10, 'a', -1]]],
  ])('a record of the log that is no batch is refused: %j', (content) => {
    const error = damageOf(packr.pack(content));
    expect(error).toBeInstanceOf(CorruptRecord);
    expect(error).toMatchObject({ code: 'STORAGE_FAILED', damage: 'malformed', record: null });
  });

  it('batches whose bytes are changed at random are read or refused, and nothing else', () => {
    const bytes = new LogRecords().pack(EVERYTHING);
    const changed = fc
      .array(fc.record({ at: fc.nat(bytes.length - 1), to: fc.nat(255) }), { minLength: 1, maxLength: 4 })
      .map((changes) => {
        const other = Uint8Array.from(bytes);
        for (const { at, to } of changes) other[at] = to;
        return other;
      });
    fc.assert(
      fc.property(changed, (other) => {
        const found = damageOf(other);
        expect(Array.isArray(found) || found instanceof CorruptRecord).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});
