import { Session, TRANSACTION_PROTOCOLS } from '@isochron/protocols';
import type { Caller } from './caller.js';
import { Callers } from './callers.js';
import { SessionsMachine } from './machine.js';

const { paris, wren, cure } = TRANSACTION_PROTOCOLS;

function callersOf({ session: rules }: typeof paris, version = () => 1): Callers {
  const machine = new SessionsMachine({
    wake: () => undefined,
    session: (id, state) => new Session(id, rules, state),
    fits: () => true,
    newId: () => 'session-of-the-test-01',
    now: () => 0,
  });
  const cut = { map: 1, horizon: 10, nodes: [2] };
  const cutsAfter = (after: number) => [cut].filter(({ map }) => map > after && map <= version());
  return new Callers({ id: 'p-1', nodes: ['p-1'], near: ['p-1'], rules, ust: () => 0, cutsAfter }, machine);
}

/** A caller that has seen a snapshot, and has written nothing. */
const sees = (ts: number, deps?: readonly number[]): Caller => ({
  seen: { ts, deps },
  hwt: 0,
  complete: 0,
  kept: undefined,
});
const write = { txId: 't', writes: [{ key: 'default/a', value: '1' }] };

it('a caller that wrote above the horizon of a later map is refused: the write may be deferred (M10)', () => {
  const callers = callersOf(paris);
  expect(() => callers.refuseDeferred({ hwt: 11 })).toThrow(expect.objectContaining({ code: 'SESSION_DEFERRED' }));
  for (const claims of [{ hwt: 10 }, { map: 1, hwt: 11 }]) expect(() => callers.refuseDeferred(claims)).not.toThrow();
});

it('a read that began before a map which may have deferred the last write is refused (M10)', () => {
  const callers = callersOf(paris);
  const read = (last: NonNullable<Caller['last']>) => callers.afterRead({ ...sees(5), hwt: 11, last }, { ts: 20 });
  expect(() => read({ hwt: 11 })).toThrow(expect.objectContaining({ code: 'SESSION_DEFERRED' }));
  expect(read({ map: 1, hwt: 11 })).toEqual({ seen: { ts: 20 }, hwt: 11 });
});

it('the token of a commit is refused where a map may have deferred the commit (M10)', () => {
  const callers = callersOf(paris);
  const claims = (map: number) => callers.committed(sees(50), { ...write, commit: { ts: 60 }, map, sent: { ts: 50 } });
  expect(claims(0)).toEqual({ map: 0, seen: { ts: 10 }, hwt: 60 });
  expect(claims(1)).toMatchObject({ seen: { ts: 50 }, hwt: 60, cache: expect.anything() });
});

it('the token of a commit is refused where a map may have deferred the write before (M10)', () => {
  const callers = callersOf(paris);
  const commit = { ...write, commit: { ts: 60 }, map: 1, sent: { ts: 50 } };
  const claims = (hwt: number) => callers.committed({ ...sees(50), hwt, last: { hwt } }, commit);
  expect(claims(11)).toEqual({ map: 0, seen: { ts: 10 }, hwt: 60 });
  expect(claims(10)).toMatchObject({ seen: { ts: 50 }, hwt: 60, cache: expect.anything() });
});

it.each([
  [11, 0],
  [10, 1],
])(
  'a cache whose last write has the timestamp %d is kept %d times once a map has the horizon 10 (M10)',
  (ts, times) => {
    let version = 0;
    const callers = callersOf(paris, () => version);
    const claims = callers.committed(sees(5), { ...write, commit: { ts }, map: 0, sent: { ts: 5 } });
    version = 1;
    // A token of the same session from before that write.
    const earlier = { ...claims, hwt: 9 };
    let caller: Caller | undefined;
    callers.resolve(earlier, (found) => {
      caller = found;
    });
    expect(callers.machine.store.size).toBe(times);
    expect(caller?.kept === undefined ? 0 : 1).toBe(times);
  },
);

it('a read that a write of the cache was laid over is refused where a map may have deferred that write (M10)', () => {
  let version = 0;
  const callers = callersOf(paris, () => version);
  callers.committed(sees(5), { ...write, commit: { ts: 11 }, map: 0, sent: { ts: 5 } });
  const kept = callers.machine.store.get('session-of-the-test-01')!;
  const read = () => callers.afterRead({ ...sees(5), kept }, { ts: 9 });
  expect(read().hwt).toBe(11);
  version = 1;
  expect(read).toThrow(expect.objectContaining({ code: 'SESSION_DEFERRED' }));
});

describe('a commit of a caller', () => {
  it('a commit of another region is not lost although the caller has seen newer writes of this one', () => {
    const commit = { ts: 40, deps: [10] };
    const claims = callersOf(wren).committed(sees(50, [20, 2, 0]), {
      ...write,
      commit,
      sent: { ts: 12, deps: [10, 1] },
    });
    expect(claims.seen).toEqual({ ts: 50, deps: [50, 0, 50] });
  });

  it('a commit in one entry of a vector is not lost although another entry is above it', () => {
    const commit = { ts: 40, deps: [40, 10] };
    const claims = callersOf(cure).committed(sees(50, [20, 50]), {
      ...write,
      commit,
      sent: { ts: 12, deps: [10, 10] },
    });
    expect(claims.seen).toEqual({ ts: 50, deps: [40, 50] });
  });

  it.each([
    ['PaRiS', paris, undefined],
    ['Wren', wren, [50, 2, 0]],
    ['Cure', cure, [50, 50]],
  ])('a commit that the caller has seen already changes nothing, under %s', (_name, protocol, deps) => {
    const callers = callersOf(protocol);
    const claims = callers.committed(sees(50, deps), { ...write, commit: { ts: 40 }, sent: { ts: 12 } });
    expect(claims.seen).toEqual({ ts: 50, deps });
    expect(callers.machine.store.get(claims.cache!.session)?.entries()).toEqual([]);
  });
});
