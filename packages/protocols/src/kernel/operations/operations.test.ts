import type { AnyMessage, DurableRecord, Kind, StoredVersion, Version } from '@isochron/core';
import { compareVersions, MAX_TIMESTAMP, MalformedMessage } from '@isochron/core';
import { operationSamples, SAMPLE_CONTEXT, sample } from '@isochron/testing/samples';
import { PlainStore } from '@isochron/testing/world/plain-store';
import fc from 'fast-check';
import { NodeClock, PhysicalNodeClock } from '../node-clock.js';
import { Waiting } from '../waiting.js';
import { type OperationMessage, operationSchema } from './messages.js';
import { OperationSession } from './session.js';
import { decides, Settlements } from './settlements.js';
import { Versions } from './versions.js';

const RUNS = { seed: 20_261_120, numRuns: 200 };

const { version } = sample('GetResp');
const { txId } = sample('PutReq');
const depends = [
  { key: 'default/k', source: 1, ts: 7, near: true },
  { key: 'default/l', source: 0, ts: 2 },
];
const slices = [sample('GetSliceReq'), sample('PutSliceReq', { value: null }), sample('RotSliceReq', { id: txId })];
const MESSAGES: readonly OperationMessage[] = [
  ...Object.values(operationSamples(SAMPLE_CONTEXT)),
  ...slices.map((request) => sample('WaitedSlice', { request })),
  sample('GetResp', { version: null, seen: [] }),
  sample('GetResp', { depends }),
  sample('PutReq', { value: new Uint8Array([1]) }),
  sample('PutReq', { value: null, depends }),
  sample('PutResp', { depends }),
  sample('PutSliceReq', { depends }),
  sample('RotReq', { keys: [], id: txId }),
  sample('RotResp', { versions: [], depends }),
  sample('RotSliceReq', { keys: [], id: txId }),
  sample('RotSliceResp', { versions: [{ ...version!, depends }] }),
];

/** Encodes and decodes through the fields in the schema. */
function roundTrip(message: AnyMessage): AnyMessage {
  const { fields } = operationSchema[message.type as OperationMessage['type']];
  const entries = Object.entries(fields as Record<string, Kind<unknown>>).map(([name, kind]) => {
    const raw = structuredClone(kind.encode(Object.entries(message).find(([field]) => field === name)?.[1]));
    return [name, kind.decode(raw)] as const;
  });
  return { type: message.type, ...Object.fromEntries(entries.filter(([, field]) => field !== undefined)) };
}

describe('messages of single operations', () => {
  it.each(MESSAGES.map((message) => [message.type, message] as const))(
    '%s is encoded and decoded',
    (_type, message) => {
      expect(roundTrip(message)).toEqual(message);
    },
  );

  it('every message of single operations has a tag of its own', () => {
    const tags = Object.values(operationSchema).map(({ tag }) => tag);
    expect(new Set(tags).size).toBe(tags.length);
    const shown = new Set(MESSAGES.map(({ type }) => type));
    const own = Object.entries(operationSchema).filter(([, { tag }]) => tag >= 64);
    expect(own.filter(([type]) => !shown.has(type as OperationMessage['type']))).toEqual([]);
  });

  it('a wait without a request is refused (D12)', () => {
    expect(() => operationSchema.WaitedSlice.fields.request.decode([null, null, null])).toThrow(MalformedMessage);
    expect(() => operationSchema.GetReq.fields.seen.decode([-1])).toThrow(MalformedMessage);
  });
});

describe('the versions of a replica', () => {
  it("a replica's versions are those of a store that has them all at once, whatever is on disk already", () => {
    const step = fc.record({
      key: fc.constantFrom('a', 'b'),
      ts: fc.integer({ min: 1, max: 30 }),
      persist: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step), fc.nat(35), fc.constantFrom('virginia', 'oregon'), (steps, at, region) => {
        const [disk, all] = [new PlainStore(), new PlainStore()];
        const versions = new Versions(0, disk);
        const waiting: { key: string; version: Version; seq: number }[] = [];
        steps.forEach(({ key, ts, persist }, i) => {
          const written = { ts, txId: `t${i}`, region: i % 2 === 0 ? 'virginia' : 'oregon', value: `${i}` };
          versions.add(key, written, i);
          all.apply({ kind: 'version', partition: 0, key, version: written });
          waiting.push({ key, version: written, seq: i });
          if (!persist) return;
          for (const { key: k, version: v } of waiting.splice(0))
            disk.apply({ kind: 'version', partition: 0, key: k, version: v });
          versions.persisted(i);
        });
        for (const key of ['a', 'b']) {
          expect(versions.at(key, at)).toEqual(all.read(0, key, at));
          expect(versions.at(key, MAX_TIMESTAMP)).toEqual(all.read(0, key, MAX_TIMESTAMP));
          const belongs = (v: StoredVersion) => v.region === region && v.ts <= at;
          expect(versions.find(key, belongs)).toEqual(all.find(0, key, belongs));
        }
        for (const { key, version: v } of waiting) expect(versions.settled(key, v)).toBe(false);
        const onDisk = (key: string) => disk.find(0, key, () => true);
        const newest = onDisk('a');
        const open = waiting.some(({ version: v }) => newest !== undefined && compareVersions(v, newest) === 0);
        if (newest !== undefined && !open) expect(versions.settled('a', newest)).toBe(true);
        expect(versions.size).toBe(waiting.length);
      }),
      RUNS,
    );
  });
});

describe('waiting', () => {
  const timers: number[] = [];
  const out = { setTimer: (_timer: string, at: number) => void timers.push(at) };

  it('an item that need not wait any more is released once, and its wait is measured', () => {
    const waiting = new Waiting<string>('t');
    waiting.add('a', 'A', 10, 'later', out);
    waiting.add('a', 'A again', 12, 'later', out);
    waiting.add('b', 'B', 11, 'later', out);
    const went: [string, number][] = [];
    waiting.release(
      (item) => (item === 'A' ? undefined : 'later'),
      (item, since) => went.push([item, since]),
      out,
    );
    expect(went).toEqual([['A', 10]]);
    expect(waiting.size).toBe(1);
    waiting.ended(10, 25);
    expect(waiting.counters).toEqual({ blocked: 1, blockedMs: 15, longestBlockMs: 15 });
    expect(waiting.expired(100, 89)).toEqual([]);
    expect(waiting.expired(101, 89)).toEqual(['B']);
    expect(waiting.size).toBe(0);
  });

  it('a timer is set for the first of the items that wait for the clock', () => {
    timers.length = 0;
    const waiting = new Waiting<number>('t');
    waiting.add('a', 50, 10, { notBefore: 50 }, out);
    waiting.add('b', 40, 10, { notBefore: 40 }, out);
    waiting.add('c', 60, 10, { notBefore: 60 }, out);
    expect(timers).toEqual([50, 40]);
    waiting.release(
      (at) => (at > 45 ? { notBefore: at } : undefined),
      () => {},
      out,
    );
    expect(timers).toEqual([50, 40, 50]);
  });
});

describe('clocks', () => {
  const out = { write: () => 1 };

  it('a hybrid clock is ready for any timestamp, a physical one when the wall clock has passed it', () => {
    const now = Date.UTC(2026, 0, 1);
    const hybrid = new NodeClock(0, 0);
    expect(hybrid.readyAt(MAX_TIMESTAMP)).toBeLessThanOrEqual(now);
    fc.assert(
      fc.property(fc.nat(100_000), fc.nat(100_000), (start, ahead) => {
        const base = new NodeClock(0, 0).propose(now, 0, out);
        const clock = new PhysicalNodeClock(base + start, base + start);
        const at = clock.readyAt(base + ahead);
        const ready = new NodeClock(0, 0).read(at);
        expect(ready).toBeGreaterThan(base + Math.max(start, ahead));
        expect(new NodeClock(0, 0).read(at - 1)).toBeLessThanOrEqual(base + Math.max(start, ahead));
      }),
      RUNS,
    );
  });

  it('a timestamp that is left behind is never proposed again, and the disk has it first', () => {
    const written: DurableRecord[] = [];
    const disk = { write: (record: DurableRecord) => written.push(record) };
    const clock = new NodeClock(0, 1_000);
    expect(clock.leaveBehind(500, disk)).toBe(true);
    expect(written).toEqual([]);
    expect(clock.leaveBehind(5_000, disk)).toBe(false);
    expect(written[0]).toMatchObject({ name: 'ceiling', value: expect.any(Number) });
    expect((written[0] as { value: number }).value).toBeGreaterThan(5_000);
    expect(clock.propose(0, 0, disk)).toBe(5_001);
    clock.persisted(1);
    expect(clock.leaveBehind(5_000, disk)).toBe(true);
  });
});

describe('responses about earlier attempts', () => {
  it('an abort decides the requested attempt and those before it, a commit every attempt (D4)', () => {
    const aborted = { state: 'aborted', ts: 0, attempt: 2 } as const;
    expect([1, 2, 3].map((attempt) => decides(aborted, attempt))).toEqual([true, true, false]);
    expect(decides({ state: 'committed', ts: 7, attempt: 0 }, 3)).toBe(true);
    expect(decides(undefined, 0)).toBe(false);
  });

  it('of more than 10,000 PUTs the least recently used are evicted', () => {
    const settlements = new Settlements();
    const put = (n: number) => settlements.of(0, `session-0000000001.${n}`);
    for (let n = 0; n < 10_000; n++) put(n).set('virginia', { state: 'aborted', ts: 0, attempt: 0 });
    expect(put(0).size).toBe(1);
    put(10_000);
    expect([0, 1, 2].map((n) => put(n).size)).toEqual([1, 0, 0]);
  });
});

describe('a session of single operations', () => {
  const session = () => new OperationSession('session-0000000001', 'virginia');

  it('a session of single operations has one operation under way (OS1)', () => {
    const one = session();
    one.get('default/k');
    expect(() => one.put('default/k', '1')).toThrow('OS1');
    one.refused();
    expect(one.put('default/k', '1').txId).toBe('session-0000000001.1');
    expect(() => one.rot([])).toThrow('OS1');
  });

  it('a PUT is the same when it is sent again; another region is another attempt', () => {
    const one = session();
    one.observe(9);
    const first = one.put('default/k', '1');
    expect(one.retry()).toEqual(first);
    one.move('oregon');
    expect(one.retry()).toEqual({ ...first, attemptRegions: ['virginia', 'oregon'] });
    expect(one.retry()).toEqual({ ...first, attemptRegions: ['virginia', 'oregon'] });
    expect(first.sentAfter).toBe(9);
  });

  it('a move gives up a read under way, and what the session has seen names its region', () => {
    const one = session();
    one.get('default/k');
    one.answered({ type: 'GetResp', ref: 1, version: null, seen: [5, 1], ust: 3 });
    one.get('default/k');
    one.move('oregon');
    expect(one.get('default/k')).toMatchObject({ seen: [5, 1], region: 'virginia' });
    one.answered({ type: 'GetResp', ref: 2, version: null, seen: [4, 2], ust: 2 });
    expect(one.export()).toEqual({ seen: [5, 2], region: 'oregon', ust: 3 });
  });
});
