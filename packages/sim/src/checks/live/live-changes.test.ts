import type { LiveDocument } from '@isochron/client/live/observer';
import type { LiveWatch } from '../evidence/observations.js';
import { A, B, CheckBench } from '../fixtures.js';
import { LiveChangesAreExact } from './live-changes.js';

const watchOf = (name: string): LiveWatch => ({ session: 's', name, scopes: [{ keys: [A, B] }], own: [] });
const [WATCH, OTHER] = [watchOf('live0'), watchOf('live1')];

const one: LiveDocument = { key: A, value: '1', pending: false };
const two: LiveDocument = { key: A, value: '2', pending: false };

const NONE: ReadonlySet<string> = new Set();

interface Shown {
  readonly at: number;
  readonly documents: readonly LiveDocument[];
  readonly changed: readonly string[];
  readonly watch?: LiveWatch;
}

function failuresOf(...calls: Shown[]): readonly string[] {
  const bench = new CheckBench();
  const check = new LiveChangesAreExact(bench.context, NONE);
  for (const { at, documents, changed, watch = WATCH } of calls) {
    const view = {
      documents: new Map(documents.map((document) => [document.key, document])),
      changed: new Set(changed),
    };
    check.liveShown(watch, at, [view]);
  }
  return bench.failed;
}

const FIRST: Shown = { at: 5, documents: [one], changed: [A] };

describe('the changes of an observer', () => {
  it('changes are the keys whose documents differ from the call before (LQ3)', () => {
    expect(
      failuresOf(FIRST, { at: 6, documents: [two], changed: [A] }, { at: 7, documents: [], changed: [A] }),
    ).toEqual([]);
    const pending = { ...one, pending: true };
    expect(failuresOf(FIRST, { at: 5, documents: [pending], changed: [A] })).toEqual([]);
    expect(failuresOf({ at: 5, documents: [], changed: [] }, { at: 6, documents: [one], changed: [A] })).toEqual([]);
  });

  it.each<[string, Shown]>([
    ['a change that is missing', { at: 6, documents: [two], changed: [B] }],
    ['a change of a key that has not changed', { at: 6, documents: [one], changed: [A] }],
    ['a call without a change', { at: 6, documents: [one], changed: [] }],
    ['another object for a document that has not changed', { at: 6, documents: [{ ...one }], changed: [A] }],
    ['a snapshot that goes back', { at: 4, documents: [two], changed: [A] }],
    ['a snapshot that goes back for another observer', { ...FIRST, at: 4, watch: OTHER }],
  ])('the check of changes reports %s (LQ3)', (_, call) => {
    expect(failuresOf(FIRST, call).length).toBeGreaterThan(0);
  });

  it('the check of changes reports a first call without its documents (LQ3)', () => {
    expect(failuresOf({ ...FIRST, changed: [] })).toHaveLength(1);
  });

  it('the check of changes reports an observer that its client ends', () => {
    const bench = new CheckBench();
    const check = new LiveChangesAreExact(bench.context, NONE);
    check.liveEnded(WATCH);
    expect(bench.failed).toEqual([]);
    check.liveEnded(WATCH, 'WATCH_TOO_LARGE');
    expect(bench.failed).toHaveLength(1);
  });

  it('an observer may end only with a refusal that the clocks of the plan explain', () => {
    const bench = new CheckBench();
    new LiveChangesAreExact(bench.context, new Set(['UNAUTHENTICATED'])).liveEnded(WATCH, 'UNAUTHENTICATED');
    expect(bench.failed).toEqual([]);
    new LiveChangesAreExact(bench.context, NONE).liveEnded(WATCH, 'UNAUTHENTICATED');
    expect(bench.failed).toHaveLength(1);
  });

  it('a client that continues a session shows all documents anew, at no lower snapshot (LQ5)', () => {
    const bench = new CheckBench();
    const check = new LiveChangesAreExact(bench.context, NONE);
    const show = (at: number) =>
      check.liveShown(WATCH, at, [{ documents: new Map([[A, { ...one }]]), changed: new Set([A]) }]);
    show(5);
    check.liveAnew(WATCH);
    show(5);
    expect(bench.failed).toEqual([]);
    check.liveAnew(WATCH);
    show(4);
    expect(bench.failed).toHaveLength(1);
  });
});
