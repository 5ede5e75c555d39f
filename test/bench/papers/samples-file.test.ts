import { renderReport } from './report.js';
import { decodeRun, encodeRun } from './samples-file.js';
import { point, recorded, round, runOf } from './testing.js';

describe('the file of a run', () => {
  it('the file of a run returns all data that a report needs', () => {
    const failures = [{ point: '95:5, 40 sessions', error: 'too many' }];
    const run = runOf([recorded({ failures })], { failures: [{ experiment: 'other', error: 'no disk' }] });
    expect(decodeRun(encodeRun(run))).toEqual(run);
    const report = (of: typeof run) => [...renderReport(of, [], 'again')];
    expect(report(decodeRun(encodeRun(run)))).toEqual(report(run));
  });

  it('the file of a run leaves out metrics that no measure needs, and separates 0 from metrics that are not counted', () => {
    const counts = { isochron_blocked_reads_total: 0, isochron_ready: 1 };
    const run = runOf([recorded({ points: [point('Fast', 10, round(10, 1, counts))] })]);
    const [{ points }] = decodeRun(encodeRun(run)).experiments as [(typeof run.experiments)[0]];
    expect(points[0]!.rounds[0]!.counts).toEqual({ isochron_blocked_reads_total: 0 });
  });

  it('the file of a run is small: a thousand samples of visibility take a few bytes each, a round a few hundred', () => {
    const samples = Array.from({ length: 1_000 }, (_, i) => ({
      source: i % 2 === 0 ? 'virginia' : 'oregon',
      reader: 'ireland',
      ms: 100 + i / 7,
    }));
    const base = encodeRun(runOf([recorded({ visibility: [] })])).length;
    const visible = encodeRun(runOf([recorded({ visibility: [{ system: 'Fast', unseen: 0, samples }] })])).length;
    expect((visible - base) / 1_000).toBeLessThan(9);
    const points = recorded().points;
    const more = encodeRun(runOf([recorded({ visibility: [], points: [...points, ...points] })])).length;
    expect((more - base) / points.length).toBeLessThan(600);
  });
});
