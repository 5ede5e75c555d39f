import type { DurableRecord, LoggedTx } from '@isochron/core';
import fc from 'fast-check';
import { Packr } from 'msgpackr';
import { CorruptRecord } from './failure.js';
import { LogRecords } from './log-records.js';
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
} from './suite-fixtures.js';

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
  received(6),
  { kind: 'confirmLog', partition: P, upTo: 5 },
  { kind: 'truncateLog', partition: P, upTo: 5 },
  { kind: 'truncateLog', partition: P, upTo: 5, bytes: 2 ** 40 },
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

  it('batches in the log refer to a log entry of an earlier batch for all its versions', () => {
    const writer = new LogRecords();
    const batches = [[entry, ended('t', { status: 'committed', ts: 9, attempt: 0, digest: 'd' })], versions];
    const sizes = batches.map((batch) => writer.pack(batch).length);
    expect(sizes[0]).toBeGreaterThan(500);
    expect(sizes[1]).toBeLessThan(20);
    expect(throughLog(batches)).toEqual(batches);
  });

  it('batches in the log hold what the versions of one transaction have in common once', () => {
    const deps = [1, 2];
    const many = Array.from({ length: 20 }, (_, i) => put(`k${i}`, { ...v(9, '"1"', 'x'.repeat(100)), deps }));
    expect(new LogRecords().pack(many).length).toBeLessThan(20 * 10 + 150);
    const others = [put('a', v(9, null)), put('b', v(9, Uint8Array.of(1))), put('c', v(9, '"1"'), P + 1), ...versions];
    expect(throughLog([[...many, ...others]])).toEqual([[...many, ...others]]);
  });

  it('versions refer neither to a log entry that was truncated before, nor twice to one', () => {
    const truncate: DurableRecord = { kind: 'truncateLog', partition: P, upTo: 9 };
    const raise: DurableRecord = { kind: 'meta', name: `logTruncatedUpTo/${P}`, value: 9 };
    for (const before of [
      [entry, truncate],
      [truncate, entry],
      [entry, raise],
      [entry, ...versions],
    ]) {
      const writer = new LogRecords();
      writer.pack(before);
      expect(new LogRecords().unpack(writer.pack(versions))).toEqual(versions);
    }
    const writer = new LogRecords();
    writer.truncated(P, 9);
    writer.pack([entry]);
    expect(new LogRecords().unpack(writer.pack(versions))).toEqual(versions);
  });

  it('versions refer to no log entry behind 8 MiB of others that wait for their versions', () => {
    const large = (n: number) => logged(n, `t${n}`, `"${'x'.repeat(1024 * 1024)}"`);
    for (const [count, isReference] of [
      [6, true],
      [9, false],
    ] as const) {
      const writer = new LogRecords();
      writer.pack([entry]);
      for (let n = 1; n <= count; n++) writer.pack([large(n)]);
      expect(writer.pack(versions).length < 100).toBe(isReference);
    }
    const used = new LogRecords();
    for (let n = 1; n <= 20; n++) {
      used.pack([large(n)]);
      used.pack([{ kind: 'truncateLog', partition: P, upTo: n }]);
    }
    used.pack([{ ...entry, ct: 30 }]);
    const later = versions.map((record) =>
      record.kind === 'version' ? { ...record, version: { ...record.version, ts: 30 } } : record,
    );
    expect(used.pack(later).length).toBeLessThan(100);
  });

  it('batches in the log are read from any of them on, given the log entries that are stored there', () => {
    const tx = fc.integer({ min: 1, max: 4 });
    const step = fc.oneof(
      fc.record({ kind: fc.constant('log' as const), tx }),
      fc.record({ kind: fc.constant('versions' as const), tx }),
      fc.record({ kind: fc.constant('truncateLog' as const), tx }),
    );
    const writesOf = (n: number) => WRITES.slice(0, n);
    const recordsOf = ({ kind, tx }: { kind: string; tx: number }): DurableRecord[] => {
      if (kind === 'truncateLog') return [{ kind, partition: P, upTo: tx }];
      const writes = writesOf(tx % 4);
      if (kind === 'log') return [{ kind, partition: P, ct: tx, tx: { txId: `t${tx}`, writes } }];
      return writes.map(({ key, value }) => put(key, v(tx, value, `t${tx}`)));
    };
    fc.assert(
      fc.property(fc.array(fc.array(step, { maxLength: 4 }), { maxLength: 8 }), fc.nat(), (steps, at) => {
        const batches = steps.map((batch) => batch.flatMap(recordsOf));
        const from = at % (batches.length + 1);
        const writer = new LogRecords();
        const packed = batches.map((batch) => writer.pack(batch));
        const stored = new Map<number, LoggedTx>();
        let truncatedUpTo = 0;
        for (const record of batches.slice(0, from).flat()) {
          if (record.kind === 'log' && record.ct > truncatedUpTo) stored.set(record.ct, record.tx);
          if (record.kind !== 'truncateLog') continue;
          truncatedUpTo = Math.max(truncatedUpTo, record.upTo);
          for (const ct of stored.keys()) if (ct <= truncatedUpTo) stored.delete(ct);
        }
        const reader = new LogRecords((_, ct) => stored.get(ct));
        reader.truncated(P, truncatedUpTo);
        expect(packed.slice(from).map((bytes) => reader.unpack(bytes))).toEqual(batches.slice(from));
      }),
      { numRuns: 2000 },
    );
  });

  it('a version that refers to a log entry that is not there is damage', () => {
    const writer = new LogRecords();
    writer.pack([entry]);
    expect(damageOf(writer.pack(versions))).toMatchObject({ damage: 'malformed' });
  });

  it('batches in the log are refused in an unknown format', () => {
    for (const format of [1, 3])
      expect(damageOf(packr.pack([format]))).toMatchObject({ code: 'STORAGE_FORMAT', damage: 'version' });
  });

  it.each([
    [null],
    [[]],
    [[2, 5]],
    [[2, [99]]],
    [[2, [12, P, 'a', 5, 't', 'r']]],
    [[2, [12, -1, 'a', 5, 't', 'r', '1']]],
    [[2, [12, 36 ** 4, 'a', 5, 't', 'r', '1']]],
    [[2, [2, P, 'a', 'b', 't']]],
    [[2, [3, P, 0, null]]],
    [[2, [11, P, 't', ['committed', 5, 0, null]]]],
    [[2, [10, 'a', -1]]],
    [[2, [12, P, 'a', 5, 't', 'r', '1', 'b']]],
    [[2, [12, P, 'a', 5, 't', 'r', '1', 'b', 7]]],
    [[2, [13, P, 5, 't', 'r']]],
    [[2, [14, 0, 0, 'd']]],
    [[2, [5, P, 5, 't', []], [14, 0, 0, true]]],
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
