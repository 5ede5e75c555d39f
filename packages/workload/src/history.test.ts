import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { HistoryRecorder, uniqueValue } from './history.js';

describe('HistoryRecorder', () => {
  it('HistoryRecorder writes one line per transaction in the format of the history file', () => {
    const lines: string[] = [];
    const session = new HistoryRecorder(lines).session('c1');
    session.begin('t-1').read('default/x', null).write('default/x', 'c1:0').committed();
    expect(lines).toEqual([
      '{"session":"c1","seq":0,"tx":"t-1","status":"committed","ops":[{"f":"r","k":"default/x","v":null},{"f":"w","k":"default/x","v":"c1:0"}]}',
    ]);
  });

  it('HistoryRecorder numbers the transactions of each session on its own, whatever way they end', () => {
    const lines: string[] = [];
    const recorder = new HistoryRecorder(lines);
    const a = recorder.session('a');
    const b = recorder.session('b');
    a.begin().committed();
    b.begin().aborted();
    a.begin().unknown('given-late');
    a.begin().committed();
    const rows = lines.map((line) => JSON.parse(line)).map((row) => [row.session, row.seq, row.tx, row.status]);
    expect(rows).toEqual([
      ['a', 0, 'a#0', 'committed'],
      ['b', 0, 'b#0', 'aborted'],
      ['a', 1, 'given-late', 'unknown'],
      ['a', 2, 'a#2', 'committed'],
    ]);
  });

  it('HistoryRecorder keeps the order of operations, so that a read of an own write stays behind it', () => {
    const lines: string[] = [];
    new HistoryRecorder(lines).session('a').begin().write('x', '1').read('x', '1').write('x', null).committed();
    expect(JSON.parse(lines[0]!).ops.map((op: { f: string }) => op.f)).toEqual(['w', 'r', 'w']);
  });

  it('HistoryRecorder writes newline-ended lines to a stream', () => {
    const stream = new PassThrough();
    const session = new HistoryRecorder(stream).session('a');
    session.begin().committed();
    session.begin().committed();
    const text = String(stream.read());
    expect(text.endsWith('}\n')).toBe(true);
    expect(text.trimEnd().split('\n')).toHaveLength(2);
  });

  it('HistoryRecorder writes transactions that are open at the end as unknown', () => {
    const lines: string[] = [];
    const recorder = new HistoryRecorder(lines);
    recorder.session('a').begin().write('x', '1');
    recorder.session('b').begin().committed();
    recorder.close();
    recorder.close();
    expect(lines.map((line) => JSON.parse(line).status)).toEqual(['committed', 'unknown']);
  });

  it('HistoryRecorder refuses a second open transaction in a session, which would have no place in its order', () => {
    const session = new HistoryRecorder([]).session('a');
    session.begin();
    expect(() => session.begin()).toThrow(/already has an open transaction/);
  });

  it('HistoryRecorder refuses a second session of the same name and a session without one', () => {
    const recorder = new HistoryRecorder([]);
    recorder.session('a');
    expect(() => recorder.session('a')).toThrow(/already recorded/);
    expect(() => recorder.session('')).toThrow(/empty/);
  });

  it('HistoryRecorder refuses operations and a second end after the end', () => {
    const tx = new HistoryRecorder([]).session('a').begin();
    tx.committed();
    expect(() => tx.read('x', null)).toThrow(/already ended/);
    expect(() => tx.write('x', null)).toThrow(/already ended/);
    expect(() => tx.aborted()).toThrow(/already ended/);
  });
});

describe('uniqueValue', () => {
  it('uniqueValue never gives two pairs of session and counter the same value', () => {
    const pair = fc.tuple(fc.stringMatching(/^[a:0-9]{0,6}$/), fc.nat(1000));
    fc.assert(
      fc.property(pair, pair, ([s1, c1], [s2, c2]) => {
        fc.pre(s1 !== s2 || c1 !== c2);
        expect(uniqueValue(s1, c1)).not.toBe(uniqueValue(s2, c2));
      }),
    );
  });

  it('uniqueValue is what a session gives for its next write', () => {
    const session = new HistoryRecorder([]).session('c9');
    expect([session.nextValue(), session.nextValue()]).toEqual([uniqueValue('c9', 0), uniqueValue('c9', 1)]);
  });
});
