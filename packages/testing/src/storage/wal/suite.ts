/// <reference types="jest" />
/** The acceptance tests of every `DurableLog`. Each implementation runs them: `runDurableLogSuite('memory', …)`. */
import { CorruptRecord } from '@isochron/storage/failure';
import type { DurableLog, Position } from '@isochron/storage/wal/durable-log';

/** A log under test with its environment. */
export interface LogHarness {
  readonly log: DurableLog;
  /** Closes the log and opens it again on the same data. */
  reopen(): Promise<DurableLog>;
  /** Closes the log and removes its data. */
  destroy(): Promise<void>;
}

/** Makes an empty log. Its segments must be small: hold some ten of the suite's records. */
export type LogFactory = () => Promise<LogHarness>;

/** The record that tests write at a position. */
export const recordAt = (position: Position): Buffer => Buffer.from(`record ${position}`);
export const recordsAt = (from: Position, count: number): Buffer[] =>
  Array.from({ length: count }, (_, i) => recordAt(from + i));

/** Everything that a log holds from a position on, as text. */
export async function textsFrom(log: DurableLog, from: Position): Promise<[Position, string][]> {
  const found: [Position, string][] = [];
  for await (const { first, records } of log.read(from))
    for (const [i, record] of records.entries()) found.push([first + i, Buffer.from(record).toString('latin1')]);
  return found;
}

const textsAt = (from: Position, count: number): [Position, string][] =>
  recordsAt(from, count).map((record, i) => [from + i, record.toString('latin1')]);

/** Registers the acceptance tests of one implementation. */
export function runDurableLogSuite(name: string, factory: LogFactory): void {
  describe(`DurableLog: ${name}`, () => {
    let harness: LogHarness;
    let log: DurableLog;
    const reopen = async () => {
      log = await harness.reopen();
    };
    beforeEach(async () => {
      harness = await factory();
      log = harness.log;
    });
    afterEach(() => harness.destroy());

    it('a log is empty at first, and begins at position 0', async () => {
      for (const round of ['open', 'reopened']) {
        expect([round, log.first, log.end, await textsFrom(log, 0)]).toEqual([round, 0, 0, []]);
        await reopen();
      }
    });

    it('a log reads the appended records, in order, from any position, before and after it is opened anew', async () => {
      expect(await log.append(recordsAt(0, 3))).toBe(0);
      expect(await log.append([recordAt(3)])).toBe(3);
      for (const round of ['open', 'reopened']) {
        for (const from of [0, 1, 3, 4])
          expect([round, await textsFrom(log, from)]).toEqual([round, textsAt(from, 4 - from)]);
        expect(log.end).toBe(4);
        await reopen();
      }
      expect(await log.append([recordAt(4)])).toBe(4);
      expect(await textsFrom(log, 0)).toEqual(textsAt(0, 5));
    });

    it('a log gives positions in the order of the calls, also of those that wait at the same time', async () => {
      const calls = Array.from({ length: 50 }, (_, i) => log.append(recordsAt(2 * i, 2)));
      expect(await Promise.all(calls)).toEqual(calls.map((_, i) => 2 * i));
      await reopen();
      expect(await textsFrom(log, 0)).toEqual(textsAt(0, 100));
    });

    it('a log resolves appends in the order of the calls', async () => {
      const resolved: number[] = [];
      await Promise.all(
        Array.from({ length: 20 }, (_, i) => log.append([recordAt(i)]).then((at) => resolved.push(at))),
      );
      expect(resolved).toEqual([...Array(20).keys()]);
    });

    it('a log keeps bytes of any content and length: none, zeros, and many', async () => {
      const records = [Buffer.alloc(0), Buffer.alloc(3000), Buffer.alloc(300_000, 'é😀'), Buffer.from([0, 255, 0])];
      await log.append(records);
      for (const record of records) await log.append([record]);
      await reopen();
      const found: Buffer[] = [];
      for await (const slice of log.read(0)) found.push(...slice.records.map((record) => Buffer.from(record)));
      expect(found.map((record) => record.length)).toEqual([...records, ...records].map(({ length }) => length));
      expect(Buffer.concat(found).equals(Buffer.concat([...records, ...records]))).toBe(true);
    });

    it('a log does not follow changes of the bytes once the append has resolved', async () => {
      const bytes = Buffer.from('before');
      await log.append([bytes]);
      bytes.fill('x');
      expect(await textsFrom(log, 0)).toEqual([[0, 'before']]);
    });

    it('an append without records waits for the appends before, and gives the position that comes next', async () => {
      let done = false;
      void log.append(recordsAt(0, 2)).then(() => {
        done = true;
      });
      expect(await log.append([])).toBe(2);
      expect([done, log.end]).toEqual([true, 2]);
    });

    it('a log may free the records below a cut, and keeps everything else', async () => {
      for (let i = 0; i < 100; i++) await log.append([recordAt(i)]);
      await log.cut(60);
      for (const round of ['open', 'reopened']) {
        expect([round, log.first > 0 && log.first <= 60, log.end]).toEqual([round, true, 100]);
        expect(await textsFrom(log, log.first)).toEqual(textsAt(log.first, 100 - log.first));
        await expect(textsFrom(log, log.first - 1)).rejects.toBeInstanceOf(CorruptRecord);
        await reopen();
      }
      await log.append([recordAt(100)]);
      expect(await textsFrom(log, 99)).toEqual(textsAt(99, 2));
    });

    it('a log goes on with its positions when everything was cut', async () => {
      await log.append(recordsAt(0, 40));
      await log.cut(40);
      await log.cut(0);
      await reopen();
      expect(log.end).toBe(40);
      expect(await textsFrom(log, 40)).toEqual([]);
      expect(await log.append([recordAt(40)])).toBe(40);
      expect(await textsFrom(log, 40)).toEqual(textsAt(40, 1));
    });

    it('a log refuses to read from a position behind its end: records that should be there are missing', async () => {
      await log.append(recordsAt(0, 2));
      const error = await textsFrom(log, 3).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(CorruptRecord);
      expect(error).toMatchObject({ code: 'STORAGE_FAILED', retryable: false, damage: 'missing', record: null });
    });

    it('a log is read while it is appended to and cut below what was passed on', async () => {
      for (let i = 0; i < 60; i++) await log.append([recordAt(i)]);
      let [read, slices] = [0, 0];
      for await (const { first, records } of log.read(0)) {
        expect(first).toBe(read);
        expect(records).toEqual(recordsAt(first, records.length));
        read += records.length;
        slices++;
        await Promise.all([log.cut(read), read < 100 && log.append([recordAt(log.end)])]);
      }
      expect([read >= 60, slices > 3]).toEqual([true, true]);
      expect(await textsFrom(log, log.first)).toEqual(textsAt(log.first, log.end - log.first));
    });

    it('a log reports records that are cut before a reading has passed them on as missing', async () => {
      for (let i = 0; i < 60; i++) await log.append([recordAt(i)]);
      const reading = log.read(0)[Symbol.asyncIterator]();
      await reading.next();
      await log.cut(60);
      await expect(reading.next()).rejects.toMatchObject({ damage: 'missing' });
    });

    it('a log is readable after a reading that its reader has ended early', async () => {
      await log.append(recordsAt(0, 2));
      for await (const { first } of log.read(0)) {
        expect(first).toBe(0);
        break;
      }
      expect(await textsFrom(log, 0)).toEqual(textsAt(0, 2));
    });

    it('the close of a log waits for calls in flight, and later calls are refused', async () => {
      const appended = log.append(recordsAt(0, 3));
      await log.close();
      expect(await appended).toBe(0);
      for (const late of [log.append([recordAt(3)]), textsFrom(log, 0), log.cut(1)])
        await expect(late).rejects.toMatchObject({ code: 'STORAGE_FAILED', message: expect.stringMatching(/closed/) });
      await log.close();
      await reopen();
      expect(await textsFrom(log, 0)).toEqual(textsAt(0, 3));
    });
  });
}
