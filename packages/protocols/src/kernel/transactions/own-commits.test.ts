import { txIdOf } from '@isochron/core';
import { parisSession } from '../../paris/session.js';
import { type OwnCommit, OwnCommits } from './own-commits.js';
import { Session } from './session.js';

const own = (n: number, ct: number, nodes: readonly number[] | undefined, map = 0): OwnCommit => {
  const txId = txIdOf('session-of-the-test-01', n);
  const sent = { txId, snapshot: 1, hwt: 0, sentAfter: 1, writes: [] };
  const write = { ct, txId, value: '1' };
  return { sent, attempts: [], acknowledged: ct, ct, map, nodes, writes: [write], isDeferred: false };
};
const CUT = { map: 1, horizon: 10, nodes: [2] };
const stateOf = (commits: readonly OwnCommit[]) => commits.map(({ isDeferred }) => isDeferred);

it('a session with deferred commits reads what it has seen with these laid over, and nothing newer (M10)', () => {
  const session = new Session('session-of-the-test-01', parisSession);
  session.observe({ ts: 5 });
  const tx = session.begin();
  tx.write('default/a', '1');
  session.commit(tx);
  session.committed(11, undefined, { map: 0, nodes: [2], attempts: [] });
  expect([session.own.cut(CUT), session.isBehind]).toEqual([true, true]);
  session.observe({ ts: 20 });
  session.stable(20);
  const reader = session.begin();
  session.started(reader, 5);
  expect([session.ust, reader.lookup('default/a')?.value]).toEqual([5, '1']);
  session.end(reader);
  session.committedAgain(session.own.deferred[0]!, 21, { map: 1, nodes: [1] });
  session.observe({ ts: 20 });
  expect([session.ust, session.hwt, session.cacheSize]).toEqual([20, 21, 1]);
  session.observe({ ts: 21 });
  expect(session.cacheSize).toBe(0);
});

describe('the commits of a session', () => {
  it('a cut defers a commit above the horizon that needs a suspended node, and all that follow (M4, M10)', () => {
    const commits = [own(1, 9, [2]), own(2, 11, [0]), own(3, 12, [1, 2]), own(4, 13, [0]), own(5, 14, [2], 1)];
    const all = new OwnCommits(commits);
    expect(all.cut(CUT)).toBe(true);
    expect(stateOf(commits)).toEqual([false, false, true, true, false]);
    expect([all.deferred, all.mapBefore]).toEqual([[commits[2], commits[3]], 0]);
    expect(all.cut(CUT)).toBe(false);
  });

  it('a commit whose nodes are not known is deferred by every cut below it (M4)', () => {
    const commits = [own(1, 11, undefined)];
    expect(new OwnCommits(commits).cut(CUT)).toBe(true);
    expect(new OwnCommits([own(1, 10, undefined)]).cut(CUT)).toBe(false);
  });

  it('an answer that is older than a cut is judged by the cut, and so is what follows (M10)', () => {
    const all = new OwnCommits();
    all.cut(CUT);
    expect(all.isOvertaken(11, { nodes: [0] })).toBe(false);
    expect(all.isOvertaken(11, { nodes: [2], map: 1 })).toBe(false);
    expect(all.isOvertaken(11, { nodes: [2] })).toBe(true);
    expect(all.isOvertaken(12, { nodes: [0] })).toBe(true);
  });

  it('a commit that is made again has its new timestamp, in its writes and in what others wait for (M10)', () => {
    const commits = [own(1, 11, [2]), own(2, 12, [0])];
    const all = new OwnCommits(commits);
    all.cut(CUT);
    expect(all.finalOf(11)).toBe(Number.POSITIVE_INFINITY);
    all.again(commits[0]!, 20, { map: 1, nodes: [1] });
    expect([all.finalOf(11), all.finalOf(12)]).toEqual([20, Number.POSITIVE_INFINITY]);
    expect(commits[0]!.writes[0]).toMatchObject({ ct: 20 });
    expect(all.behind()).toEqual([{ node: 1, ct: 20 }]);
    all.again(commits[1]!, 21, { map: 1, nodes: [1] });
    expect(all.deferred).toEqual([]);
    expect(all.behind()).toEqual([{ node: 1, ct: 21 }]);
  });

  it('a commit follows the latest unstable write on each node, and nothing exact where nodes are not known (M4)', () => {
    const all = new OwnCommits([own(1, 11, [0, 1]), own(2, 12, [1])]);
    expect(all.behind()).toEqual([
      { node: 0, ct: 11 },
      { node: 1, ct: 12 },
    ]);
    all.prune(11);
    expect(all.behind()).toEqual([{ node: 1, ct: 12 }]);
    all.add(own(3, 13, undefined));
    expect(all.behind()).toEqual([]);
  });

  it('a deferred commit is kept however far stable time is, until the session goes on without (M10)', () => {
    const all = new OwnCommits([own(1, 11, [2]), own(2, 12, [0])]);
    all.cut(CUT);
    all.prune(100);
    expect(all.deferred).toHaveLength(2);
    expect(all.export()).toMatchObject([{ ct: 11, isDeferred: true }, { ct: 12 }]);
    expect(all.drop(({ isDeferred }) => isDeferred)).toHaveLength(2);
    expect(all.deferred).toEqual([]);
  });
});
