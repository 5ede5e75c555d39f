import { type Timestamp, txIdOf } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import { TestNode, UST } from '@isochron/testing/sessions/served-node';

const TX = txIdOf('session-of-the-test-01', 1);
const WRITE = { key: 'default/a', value: '1' };
const at = (ms: number): Timestamp => UST + ms;
/** Snapshots of Wren: of the region of the node, and of another one. */
const here: Snapshot = { ts: at(12), deps: [at(10), 1, 0] };
const elsewhere: Snapshot = { ts: at(30), deps: [at(20), 2, 0] };

/** A session whose transaction begins here, and that sees another region. */
function roaming() {
  const node = new TestNode({}, new Set(['transactions']), 'wren');
  const { link, connection } = node.greeted();
  const started = () => {
    connection.receive({ type: 'start', id: 1, tx: TX });
    const ref = node.posted.at(-1)!.ref;
    node.answer({ type: 'StartTxResp', ref, snapshot: here.ts, deps: here.deps });
  };
  const moved = () => connection.receive({ type: 'ping', id: 2, token: node.tokens.mintPlain(elsewhere, 0, '') });
  const committed = (named?: Snapshot): Snapshot => {
    const order = { type: 'commit', id: 3, tx: TX, hwt: 0, sentAfter: UST, attemptRegions: ['p'], writes: [WRITE] };
    connection.receive(named === undefined ? order : { ...order, snapshot: named.ts, deps: named.deps });
    const ref = node.posted.at(-1)!.ref;
    node.answer({ type: 'CommitResp', ref, txId: TX, ct: at(40), deps: [at(10)] });
    const { token } = link.frames.at(-1) as { token: string };
    return node.tokens.decode(token, at(1_000), '').seen;
  };
  return { started, moved, committed };
}

it('a commit of an open transaction leaves its session in the region of the transaction', () => {
  const session = roaming();
  session.started();
  expect(session.committed()).toEqual({ ts: at(12), deps: [at(10), 1, at(40)] });
});

describe('a commit of a session that has seen another region since', () => {
  const everything = { ts: at(40), deps: [at(40), 0, at(40)] };

  it('a commit of an open transaction has the home of the snapshot that the transaction read from', () => {
    const session = roaming();
    session.started();
    session.moved();
    expect(session.committed()).toEqual(everything);
  });

  it('a commit that names its snapshot has the home of that', () => {
    const session = roaming();
    session.started();
    session.moved();
    expect(session.committed(here)).toEqual(everything);
  });

  it('a commit of a transaction that did not begin here belongs to no region', () => {
    const session = roaming();
    session.moved();
    expect(session.committed()).toEqual(everything);
  });
});

describe('the needs of unstable writes', () => {
  const home = 'p';
  const txAt = (n: number) => txIdOf('session-of-the-test-01', n);

  /** A session of PaRiS that sends commits, and the needs that the coordinator receives. */
  function writer() {
    const node = new TestNode({}, new Set(['transactions', 'stable-snapshots', 'chained-commits']));
    const { link, connection } = node.greeted();
    let n = 0;
    const commit = (fields: object = {}): void => {
      const tx = txAt(++n);
      const order = { id: n, tx, hwt: 0, sentAfter: UST, attemptRegions: [home], snapshot: UST, writes: [WRITE] };
      connection.receive({ type: 'commit', ...order, ...fields });
    };
    const answer = (of: number, ct: Timestamp, nodes?: readonly number[], map?: number): void => {
      const request = node.posted.find((one) => 'txId' in one && one.txId === txAt(of))!;
      node.answer({ type: 'CommitResp', ref: request.ref, txId: txAt(of), ct, nodes, map });
    };
    const needs = () => node.posted.map((request) => ('behind' in request ? request.behind : undefined));
    return { link, commit, answer, needs, posted: () => node.posted };
  }

  it('a commit follows the writes that its client names, and needs their nodes (M4)', () => {
    const { commit, needs } = writer();
    commit();
    commit({ behind: [{ node: 0, ct: at(1) }, { ct: at(2) }] });
    expect(needs()).toEqual([undefined, [{ node: 0, ct: at(1) }, { ct: at(2) }]]);
  });

  it('a commit that is made again names its first timestamp, below which no log is searched for it (F9)', () => {
    const { link, commit, posted } = writer();
    commit({ first: at(5) });
    expect(posted()).toMatchObject([{ type: 'CommitReq', first: at(5), sentAfter: at(5) - 1 }]);
    commit({ first: 2 ** 52 });
    expect(link.frames).toMatchObject([{ type: 'error', code: 'TIMESTAMP_IN_FUTURE' }]);
  });

  it('a chained commit follows the commits before it, too: the latest write on each node counts (M4)', () => {
    const { commit, answer, needs } = writer();
    commit({ behind: [{ node: 0, ct: at(1) }] });
    commit({ behind: [{ node: 0, ct: at(1) }], after: txAt(1) });
    commit({ behind: [{ node: 0, ct: at(1) }], after: txAt(2) });
    answer(1, at(3), [0]);
    answer(2, at(4));
    expect(needs()).toEqual([
      [{ node: 0, ct: at(1) }],
      [{ node: 0, ct: at(3) }],
      [{ node: 0, ct: at(3) }, { ct: at(4) }],
    ]);
  });

  it('the answer to a commit names its nodes and its map (M10)', () => {
    const { link, commit, answer } = writer();
    commit();
    answer(1, at(1), [0], 2);
    commit();
    answer(2, at(2), undefined, 0);
    const answers = link.frames.filter((frame) => frame.type === 'committed');
    expect(answers).toMatchObject([{ ts: at(1), nodes: [0], map: 2 }, { ts: at(2) }]);
    expect(answers[1]).not.toHaveProperty('map');
  });

  it('a commit that follows a write on a node that does not exist is refused (D12)', () => {
    const { link, commit, needs } = writer();
    commit({ behind: [{ node: 1, ct: at(1) }] });
    expect(link.frames).toMatchObject([{ type: 'error', code: 'INVALID_REQUEST' }]);
    expect(needs()).toEqual([]);
  });
});
