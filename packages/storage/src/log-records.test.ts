import type { DurableRecord } from '@isochron/core';
import fc from 'fast-check';
import { Packr } from 'msgpackr';
import { CorruptRecord } from './failure.js';
import { LogRecords } from './log-records.js';
import { collect, dependent, ended, logged, outcomeAt, P, prepared, put, remove, v } from './suite-fixtures.js';

const packr = new Packr({ useRecords: false });
const WRITES = [
  { key: 'a', value: `"${'x'.repeat(500)}"` },
  { key: 'b', value: null },
  { key: 'c', value: Uint8Array.of(1, 2, 255) },
];
const prepare: DurableRecord = { kind: 'prepared', partition: P, txId: 't', record: { ...prepared, writes: WRITES } };
const unprepare: DurableRecord = { kind: 'prepared', partition: P, txId: 't', record: null };
const entry: Extract<DurableRecord, { kind: 'log' }> = {
  kind: 'log',
  partition: P,
  ct: 9,
  tx: { txId: 't', writes: WRITES, siblings: [4] },
};
const outcome = ended('t', { status: 'committed', ts: 9, attempt: 0, digest: prepared.digest });
const versions: readonly DurableRecord[] = WRITES.map(({ key, value }) => ({
  kind: 'version',
  partition: P,
  key,
  version: { ts: 9, txId: 't', region: 'r', value, siblings: entry.tx.siblings },
}));

const EVERYTHING: readonly DurableRecord[] = [
  put('a', v(5)),
  put('a', v(6, null)),
  put('bytes', v(7, Uint8Array.of(0, 200))),
  put('a', dependent(8, [1, 2])),
  remove('a', 5),
  prepare,
  unprepare,
  outcome,
  ended('other', outcomeAt(5)),
  logged(5),
  { kind: 'truncateLog', partition: P, upTo: 5 },
  collect(3),
  { kind: 'forget', partition: P, upTo: 4 },
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

  it('batches in the log hold each value of a transaction once, from its prepare to its versions', () => {
    const writer = new LogRecords();
    const batches = [[prepare], [entry, outcome, unprepare, ...versions]];
    const sizes = batches.map((batch) => writer.pack(batch).length);
    expect(sizes[0]).toBeGreaterThan(500);
    expect(sizes[1]).toBeLessThan(100);
    expect(throughLog(batches)).toEqual(batches);
  });

  it('batches in the log hold the values anew where the transaction is no longer prepared, or has others', () => {
    const other = { ...entry, tx: { txId: 't', writes: [...WRITES].reverse() } };
    for (const batches of [
      [[prepare], [other]],
      [[prepare, unprepare], [entry]],
      [[prepare], [unprepare, entry]],
    ])
      expect(throughLog(batches)).toEqual(batches);
  });

  it('batches in the log keep a version that differs from its log entry in anything', () => {
    const different: readonly DurableRecord[] = [
      put('a', v(9, '"other"', 't')),
      put('b', v(9, WRITES[0]!.value, 't')),
      put('a', v(8, WRITES[0]!.value, 't')),
      put('a', v(9, WRITES[0]!.value, 'u')),
      put('a', v(9, WRITES[0]!.value, 't'), P + 1),
    ];
    for (const record of different) expect(throughLog([[entry, record]])).toEqual([[entry, record]]);
  });

  it('batches in the log are read from behind the prepare on, given the transactions that were prepared there', () => {
    const writer = new LogRecords();
    writer.pack([prepare]);
    const packed = writer.pack([entry]);
    const reader = new LogRecords();
    reader.prepared(P, 't', { ...prepared, writes: WRITES });
    expect(reader.unpack(packed)).toEqual([entry]);
    expect(damageOf(packed)).toMatchObject({ damage: 'malformed' });
  });

  it('batches in the log are refused in an unknown format', () => {
    expect(damageOf(packr.pack([2]))).toMatchObject({ code: 'STORAGE_FAILED', damage: 'version' });
  });

  it.each([
    [null],
    [[]],
    [[1, 5]],
    [[1, [99]]],
    [[1, [0, P, 'a', 5, 't', 'r']]],
    [[1, [0, -1, 'a', 5, 't', 'r', '1']]],
    [[1, [0, 36 ** 4, 'a', 5, 't', 'r', '1']]],
    [[1, [0, P, 'a', 5, 't', 'r', '1', 6, 't', 'r', '2']]],
    [[1, [1, 0, 'r']]],
    [[1, [5, P, 5, 't', []], [1, 0, 'r']]],
    [[1, [2, P, 'a', 'b', 't']]],
    [[1, [3, P, 0, null]]],
    [[1, [11, P, 't', ['committed', 5, 0, null]]]],
    [[1, [10, 'a', -1]]],
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
