import fc from 'fast-check';
import { Rows, type RowVersion } from './rows.js';

const version = (ts: number, value: RowVersion['value'] = `v${ts}`, more: Partial<RowVersion> = {}): RowVersion => ({
  ts,
  txId: 'abcdefghijklmnopqrstuv-A0.0',
  region: 'virginia',
  value,
  ...more,
});

/** A row as data: bytes compare by content. */
const plain = (found: RowVersion | undefined) =>
  found && { ...found, value: typeof found.value === 'string' ? found.value : [...found.value] };

describe('rows', () => {
  it.each<[string, string, RowVersion]>([
    ['a text', 'default/a', version(1, '{"n":1}')],
    ['a text beyond Latin-1', 'default/a', version(2, '"日本 é"')],
    ['a Latin-1 text', 'default/a', version(3, '"é"')],
    ['an empty text', 'default/a', version(4, '')],
    ['bytes', 'default/a', version(5, Uint8Array.of(0, 255, 7))],
    ['a key beyond Latin-1', 'default/日', version(6)],
    ['a key longer than a page', `default/${'k'.repeat(70_000)}`, version(7)],
    ['a large timestamp', 'default/a', version(2 ** 53 - 1)],
    ['dependencies', 'default/a', version(8, 'v', { deps: [1, 2 ** 50] })],
    ['siblings', 'default/a', version(9, 'v', { siblings: [0, 3] })],
    ['a late write', 'default/a', version(9, 'v', { at: 4 })],
    [
      'dependencies that name keys',
      'default/a',
      version(10, 'v', { depends: [{ key: 'default/b', source: 1, ts: 2, near: true }] }),
    ],
  ])('a row holds %s', (_what, key, stored) => {
    const rows = new Rows();
    expect(rows.holds(stored)).toBe(true);
    rows.put(3, key, { version: stored, first: 5 });
    expect([rows.has(3, key), rows.has(4, key)]).toEqual([true, false]);
    expect(plain(rows.read(3, key))).toEqual(plain(stored));
    const taken = rows.take(3, key)!;
    expect([plain(taken.version), taken.first]).toEqual([plain(stored), 5]);
    expect([rows.read(3, key), rows.count, rows.bytes]).toEqual([undefined, 0, 0]);
  });

  it('a row holds neither a deletion nor a transaction id beyond Latin-1', () => {
    const rows = new Rows();
    expect(rows.holds({ ...version(1), value: null })).toBe(false);
    expect(rows.holds(version(1, 'v', { txId: '日' }))).toBe(false);
    expect(rows.holds(version(1, 'v', { txId: 'x'.repeat(300) }))).toBe(false);
  });

  it('rows number no more than 1,024 regions, whatever the names in versions are', () => {
    const rows = new Rows();
    const from = (i: number) => version(i, 'v', { region: `region-${i}` });
    for (let i = 0; i < 1024; i++) rows.put(0, `k${i}`, { version: from(i), first: 0 });
    expect([rows.holds(from(1023)), rows.holds(from(1024))]).toEqual([true, false]);
    for (let i = 0; i < 1024; i++) expect(rows.read(0, `k${i}`)?.region).toBe(`region-${i}`);
  });

  it('a row holds no long value: a read would copy it', () => {
    const rows = new Rows();
    expect(rows.holds(version(1, 'x'.repeat(8192)))).toBe(true);
    expect(rows.holds(version(1, 'x'.repeat(8193)))).toBe(false);
    expect(rows.holds(version(1, new Uint8Array(8193)))).toBe(false);
  });

  it('keys with the same hash have rows of their own', () => {
    const rows = new Rows();
    // The number of the partition and the first character cancel out.
    rows.put(0, '`x', { version: version(1), first: 0 });
    rows.put(1, 'ax', { version: version(2), first: 0 });
    expect([rows.read(0, '`x')?.ts, rows.read(1, 'ax')?.ts]).toEqual([1, 2]);
    expect([rows.has(1, '`x'), rows.has(0, 'ax')]).toEqual([false, false]);
  });

  it('the bytes of rows are those of the pages and of the table', () => {
    const rows = new Rows(1024);
    rows.put(0, 'a', { version: version(1), first: 0 });
    expect(rows.bytes).toBe(1024 + 64 * 4);
  });

  it('a page whose rows are all taken is free at once', () => {
    const rows = new Rows(1024);
    for (let i = 0; i < 100; i++) rows.put(0, `k${i}`, { version: version(i), first: 0 });
    const full = rows.bytes;
    for (let i = 0; i < 60; i++) rows.take(0, `k${i}`);
    expect(rows.bytes).toBeLessThanOrEqual(full - 4 * 1024);
    for (let i = 60; i < 100; i++) expect(rows.read(0, `k${i}`)?.ts).toBe(i);
  });

  it('bytes that a read returns are a copy: a row does not change through them', () => {
    const rows = new Rows();
    rows.put(0, 'a', { version: version(1, Uint8Array.of(1, 2)), first: 0 });
    (rows.read(0, 'a')!.value as Uint8Array)[0] = 9;
    expect(plain(rows.read(0, 'a'))?.value).toEqual([1, 2]);
  });

  it('a row takes at most 120 bytes beside its text', () => {
    const rows = new Rows();
    const text = (i: number) => `default/boards/${i}/cards/${i}`;
    let texts = 0;
    for (let i = 0; i < 100_000; i++) {
      rows.put(i % 6, text(i), { version: version(i, 'x'.repeat(100)), first: 0 });
      texts += text(i).length + 100;
    }
    expect((rows.bytes - texts) / rows.count).toBeLessThanOrEqual(120);
  });

  it('eviction drops the rows without a read since eviction looked at them last', () => {
    const rows = new Rows(1024);
    const put = (i: number) => rows.put(0, `k${i}`, { version: version(i), first: 0 });
    const has = (i: number) => rows.has(0, `k${i}`);
    for (let i = 0; i < 100; i++) put(i);
    const all = Array.from({ length: 100 }, (_, i) => i);
    const [hot, cold] = [all.filter((i) => i % 10 === 0), all.filter((i) => i % 10 !== 0)];
    while (cold.some(has)) {
      for (const i of hot) rows.read(0, `k${i}`);
      rows.evict();
    }
    expect(hot.every(has)).toBe(true);
    for (let i = 0; rows.count > 0; i++) {
      expect(i).toBeLessThan(100);
      rows.evict();
    }
    expect(rows.bytes).toBe(0);
  });

  it('pages that are half empty are compacted first, and no row of them is lost', () => {
    const rows = new Rows(1024);
    for (let i = 0; i < 1000; i++) rows.put(0, `k${i}`, { version: version(i), first: 0 });
    const full = rows.bytes;
    for (let i = 0; i < 1000; i++) if (i % 5 !== 0) rows.take(0, `k${i}`);
    expect(rows.bytes).toBe(full);
    while (rows.bytes > full / 2) {
      const before = rows.count;
      rows.evict();
      expect(rows.count).toBe(before);
    }
    for (let i = 0; i < 1000; i += 5) expect(rows.read(0, `k${i}`)?.ts).toBe(i);
  });

  it('full pages lose no row while a page is half empty', () => {
    const rows = new Rows(1024);
    for (let i = 0; i < 1000; i++) rows.put(0, `k${i}`, { version: version(i), first: 0 });
    for (let i = 500; i < 1000; i++) if (i % 5 !== 0) rows.take(0, `k${i}`);
    for (let i = 0; i < 20; i++) rows.evict();
    expect(rows.count).toBe(600);
  });

  it('rows give back what was put, whatever is taken, put again and evicted', () => {
    const key = fc.constantFrom(...Array.from({ length: 40 }, (_, i) => `k${i}`), '日', 'é', 'k'.repeat(700));
    const value = fc.oneof(
      fc.string({ maxLength: 300 }),
      fc.string({ unit: 'binary', maxLength: 50 }),
      fc.uint8Array({ maxLength: 100 }),
      fc.nat(2000).map((length) => 'x'.repeat(length)),
    );
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ f: fc.constant('put' as const), partition: fc.nat(2), key, value }) },
      { weight: 3, arbitrary: fc.record({ f: fc.constant('take' as const), partition: fc.nat(2), key }) },
      { weight: 3, arbitrary: fc.record({ f: fc.constant('read' as const), partition: fc.nat(2), key }) },
      { weight: 1, arbitrary: fc.record({ f: fc.constant('evict' as const) }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), fc.constantFrom(256, 1024, 65_536), (steps, pageBytes) => {
        const rows = new Rows(pageBytes);
        const model = new Map<string, { partition: number; key: string; version: RowVersion; first: number }>();
        steps.forEach((chosen, i) => {
          if (chosen.f === 'evict') {
            rows.evict();
            for (const [name, row] of model) if (!rows.has(row.partition, row.key)) model.delete(name);
          } else {
            const name = `${chosen.partition} ${chosen.key}`;
            const known = model.get(name);
            if (chosen.f === 'put' && known === undefined) {
              const row = { version: version(i, chosen.value), first: i };
              model.set(name, { partition: chosen.partition, key: chosen.key, ...row });
              rows.put(chosen.partition, chosen.key, row);
            } else if (chosen.f === 'take') {
              const taken = rows.take(chosen.partition, chosen.key);
              expect([plain(taken?.version), taken?.first]).toEqual([plain(known?.version), known?.first]);
              model.delete(name);
            } else expect(plain(rows.read(chosen.partition, chosen.key))).toEqual(plain(known?.version));
          }
          expect(rows.count).toBe(model.size);
        });
        for (const row of model.values()) expect(plain(rows.read(row.partition, row.key))).toEqual(plain(row.version));
        for (let i = 0; rows.count > 0; i++) {
          expect(i).toBeLessThan(1000);
          rows.evict();
        }
        expect(rows.bytes).toBe(0);
      }),
      { numRuns: 300 },
    );
  });
});
